#include "trawl/counting_bloom_filter.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cmath>
#include <fstream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

#include "base/file_io.h"
#include "filter/snapshot/snapshot_reader.h"
#include "filter/snapshot/snapshot_writer.h"
#include "tests/support/filter_keys.h"
#include "tests/support/run_together.h"
#include "tests/support/slowdown.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

static_assert(MembershipFilter<CountingBloomFilter>);

using test::kSlowdown;
using test::nth_key;
using test::run_together;
using test::some_keys;

CountingBloomFilter make_counting(std::uint64_t capacity, double rate) {
  auto filter = CountingBloomFilter::create(
      {.capacity = capacity, .false_positive_rate = rate, .hash = KeyedHash::from_seed(1)});
  if (!filter) throw std::runtime_error(filter.error().message);
  return std::move(*filter);
}

// The words of the counters, as the filter saves them.
std::vector<std::uint64_t> words_of(const CountingBloomFilter& filter) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "filter";
  if (const auto saved = filter.save(path); !saved) throw std::runtime_error(saved.error().message);
  const auto reader = SnapshotReader::open(path, FilterKind::kCounting);
  std::vector<std::uint64_t> all(reader->header().sections.front().words);
  const auto read = reader->read_words(
      [&](std::size_t, std::uint64_t first, std::span<const std::uint64_t> words) {
        std::ranges::copy(words, all.begin() + static_cast<std::ptrdiff_t>(first));
      });
  if (!read) throw std::runtime_error(read.error().message);
  return all;
}

bool all_zero(const std::vector<std::uint64_t>& words) {
  return std::ranges::all_of(words, [](std::uint64_t word) { return word == 0; });
}

TEST(CountingBloomFilter, InsertTellsNewOnceAndEraseTakesItBack) {
  auto filter = make_counting(1000, 1e-6);
  const Fingerprint key = nth_key(0);
  EXPECT_FALSE(filter.contains(key));
  EXPECT_FALSE(filter.erase(key));
  EXPECT_TRUE(filter.insert(key));
  EXPECT_FALSE(filter.insert(key));
  EXPECT_EQ(filter.stats().inserted, 1u);
  EXPECT_TRUE(filter.erase(key));
  EXPECT_TRUE(filter.contains(key)) << "it was inserted twice";
  EXPECT_EQ(filter.stats().inserted, 1u);
  EXPECT_TRUE(filter.erase(key));
  EXPECT_FALSE(filter.contains(key));
  EXPECT_FALSE(filter.erase(key));
  EXPECT_EQ(filter.stats().inserted, 0u);
  EXPECT_TRUE(filter.insert(key)) << "new again";
}

TEST(CountingBloomFilter, MeasuredRateIsTheComputedOne) {
  for (const double rate : {1e-2, 1e-3, 1e-4, 1e-6}) {
    SCOPED_TRACE(rate);
    if (kSlowdown > 1 && rate < 1e-3) continue;  // too few probes would find one
    constexpr std::uint64_t kKeys = 200'000;
    const std::uint64_t probes = (rate < 1e-5 ? 20'000'000 : 3'000'000) / kSlowdown;
    auto filter = make_counting(kKeys, rate);
    std::uint64_t called_new = 0;
    for (std::uint64_t i = 0; i < kKeys; ++i)
      called_new += filter.insert(nth_key(i)) ? 1 : 0;
    std::uint64_t found = 0;
    for (std::uint64_t i = 0; i < probes; ++i)
      found += filter.contains(nth_key(i, 2)) ? 1 : 0;
    const auto stats = filter.stats();
    const double expected = stats.current_rate * static_cast<double>(probes);
    const double tolerance = std::max(0.1 * expected, 3 * std::sqrt(expected));
    EXPECT_NEAR(static_cast<double>(found), expected, tolerance);
    EXPECT_LE(static_cast<double>(found), rate * static_cast<double>(probes) + tolerance);
    const auto lost = static_cast<double>(kKeys - called_new);
    EXPECT_NEAR(lost, stats.expected_false_positives,
                std::max(0.15 * lost, 4 * std::sqrt(stats.expected_false_positives) + 1));
    EXPECT_EQ(stats.inserted, called_new);
    EXPECT_NEAR(stats.fill, 0.5, 0.02);
  }
}

TEST(CountingBloomFilter, HighRatesAndOverfullFiltersAreComputedForTheKeysOffered) {
  // Keys that are called seen count up all the same; at these rates they are many.
  for (const double rate : {0.1, 0.25, 0.5}) {
    for (const std::uint64_t times : {1, 4}) {
      SCOPED_TRACE(rate);
      SCOPED_TRACE(times);
      constexpr std::uint64_t kCapacity = 400'000 / kSlowdown;
      constexpr std::uint64_t kProbes = 1'000'000 / kSlowdown;
      auto filter = make_counting(kCapacity, rate);
      const std::uint64_t offered = times * kCapacity;
      std::uint64_t called_new = 0;
      for (std::uint64_t i = 0; i < offered; ++i)
        called_new += filter.insert(nth_key(i)) ? 1 : 0;
      std::uint64_t found = 0;
      for (std::uint64_t i = 0; i < kProbes; ++i)
        found += filter.contains(nth_key(i, 2)) ? 1 : 0;
      const auto stats = filter.stats();
      const double measured = static_cast<double>(found) / kProbes;
      EXPECT_NEAR(stats.current_rate, measured, 0.02 * measured * std::sqrt(kSlowdown));
      const auto lost = static_cast<double>(offered - called_new);
      EXPECT_NEAR(stats.expected_false_positives, lost, 0.02 * lost * std::sqrt(kSlowdown));
      EXPECT_EQ(stats.inserted, called_new);
      EXPECT_EQ(stats.capacity, kCapacity);
      if (times == 1) {
        EXPECT_NEAR(stats.current_rate, rate, 0.05 * rate);
      }
    }
  }
}

TEST(CountingBloomFilter, MeasuredRateOfManySmallFiltersIsTheComputedOne) {
  // Here two keys' places meet by structure, if they do.
  constexpr int kFilters = 400;
  constexpr std::uint64_t kProbes = 10'000;
  double expected = 0;
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < kFilters; ++seed) {
    auto filter = make_counting(500, 1e-4);
    for (std::uint64_t i = 0; i < 500; ++i)
      filter.insert(nth_key(i, 100 + seed));
    for (std::uint64_t i = 0; i < kProbes; ++i)
      found += filter.contains(nth_key(i, 1'000'000 + seed)) ? 1 : 0;
    expected += filter.stats().current_rate * kProbes;
  }
  EXPECT_NEAR(static_cast<double>(found), expected,
              std::max(0.1 * expected, 4 * std::sqrt(expected)));
}

TEST(CountingBloomFilter, ErasingAllThatWasInsertedLeavesNothing) {
  for (const std::uint64_t capacity : {1u, 2u, 10u, 300u, 20'000u}) {
    SCOPED_TRACE(capacity);
    auto filter = make_counting(capacity, 1e-3);
    const auto keys = some_keys(capacity);
    for (const auto key : keys)
      filter.insert(key);
    EXPECT_FALSE(all_zero(words_of(filter)));
    for (const auto key : keys)
      ASSERT_TRUE(filter.erase(key));
    EXPECT_TRUE(all_zero(words_of(filter)));
    EXPECT_EQ(filter.stats().inserted, 0u);
    EXPECT_EQ(filter.stats().fill, 0.0);
  }
}

TEST(CountingBloomFilter, PlacesThatCoincideInOneKeyCountOnce) {
  // 48 counters and 20 places: most keys have some place twice. One insert must leave no counter
  // above 1, or fifteen inserts could saturate what holds fewer keys.
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    auto filter = make_counting(1, 1e-6);
    ASSERT_TRUE(filter.insert(nth_key(0, seed)));
    for (const std::uint64_t word : words_of(filter))
      ASSERT_EQ(word & ~std::uint64_t{0x1111111111111111}, 0u);
  }
}

TEST(CountingBloomFilter, ASaturatedCounterNeverGoesDown) {
  auto filter = make_counting(1'000, 1e-4);
  const auto others = some_keys(900, 2);
  for (const auto key : others)
    filter.insert(key);
  const Fingerprint key = nth_key(0);
  for (int i = 0; i < 20; ++i)
    filter.insert(key);
  const auto saturated = words_of(filter);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(filter.erase(key)) << i;
  }
  EXPECT_TRUE(filter.contains(key));
  EXPECT_EQ(words_of(filter), saturated);
  for (const auto other : others)
    ASSERT_TRUE(filter.contains(other));
  for (const auto other : others)
    ASSERT_TRUE(filter.erase(other));
  EXPECT_TRUE(filter.contains(key));
}

TEST(CountingBloomFilter, ARefusedEraseChangesNothing) {
  auto filter = make_counting(2'000, 1e-2);
  for (const auto key : some_keys(2'000))
    filter.insert(key);
  const auto before = words_of(filter);
  int refused = 0;
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    const Fingerprint absent = nth_key(i, 3);
    if (filter.contains(absent)) continue;
    EXPECT_FALSE(filter.erase(absent));
    ++refused;
  }
  EXPECT_GT(refused, 900);
  EXPECT_EQ(words_of(filter), before);
  EXPECT_NEAR(static_cast<double>(filter.stats().inserted), 2'000, 20);
}

TEST(CountingBloomFilter, A2_ErasingSomeKeysLosesNoOther) {
  // Four times the capacity: counters are shared by many keys.
  auto filter = make_counting(5'000, 1e-2);
  const auto keys = some_keys(20'000);
  for (const auto key : keys)
    filter.insert(key);
  for (std::size_t i = 0; i < keys.size(); i += 2)
    ASSERT_TRUE(filter.erase(keys[i]));
  for (std::size_t i = 1; i < keys.size(); i += 2)
    ASSERT_TRUE(filter.contains(keys[i])) << i;
}

TEST(CountingBloomFilter, BatchesAnswerAsSingleCallsDo) {
  auto single = make_counting(5'000, 1e-2);
  auto batched = make_counting(5'000, 1e-2);
  auto keys = some_keys(5'000);
  keys.insert(keys.end(), keys.begin(), keys.begin() + 100);
  keys.insert(keys.end(), 5, keys.front());  // next to each other
  for (const std::size_t size : {0u, 1u, 3u, 4u, 5u, 333u, 5'105u}) {
    SCOPED_TRACE(size);
    const std::span<const Fingerprint> part(keys.end() - static_cast<std::ptrdiff_t>(size),
                                            keys.end());
    auto answers = std::make_unique<bool[]>(size + 1);
    const std::span<bool> admitted(answers.get(), size);
    const std::size_t fresh = batched.insert_batch(part, admitted);
    std::size_t expected = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const bool is_new = single.insert(part[i]);
      EXPECT_EQ(admitted[i], is_new) << i;
      expected += is_new ? 1 : 0;
    }
    EXPECT_EQ(fresh, expected);
    EXPECT_EQ(batched.contains_batch(part, admitted), size);
  }
  EXPECT_EQ(words_of(single), words_of(batched));
  const auto probes = some_keys(20'000, 2);
  auto found = std::make_unique<bool[]>(probes.size());
  const std::size_t count = batched.contains_batch(probes, {found.get(), probes.size()});
  std::size_t expected = 0;
  for (std::size_t i = 0; i < probes.size(); ++i) {
    ASSERT_EQ(found[i], single.contains(probes[i])) << i;
    expected += found[i] ? 1 : 0;
  }
  EXPECT_EQ(count, expected);
  EXPECT_GT(count, 0u);
}

TEST(CountingBloomFilter, A1_ConcurrentInsertsOfOneKeyAdmitAtMostOne) {
  for (const double rate : {1e-9, 1e-1}) {  // with no interference, and with much
    SCOPED_TRACE(rate);
    constexpr std::size_t kKeys = 20'000 / (kSlowdown > 4 ? 4 : 1);
    auto filter = make_counting(kKeys / (rate > 1e-2 ? 10 : 1), rate);
    const auto keys = some_keys(kKeys);
    std::vector<std::atomic<int>> winners(kKeys);
    run_together(4, [&](std::size_t t) {
      constexpr std::size_t kBatch = 50;
      bool admitted[kBatch];
      for (std::size_t first = 0; first < kKeys; first += kBatch) {
        if (t % 2 == 0) {
          filter.insert_batch({keys.data() + first, kBatch}, admitted);
        } else {
          for (std::size_t i = 0; i < kBatch; ++i)
            admitted[i] = filter.insert(keys[first + i]);
        }
        for (std::size_t i = 0; i < kBatch; ++i)
          winners[first + i].fetch_add(admitted[i] ? 1 : 0);
      }
    });
    for (std::size_t i = 0; i < kKeys; ++i) {
      ASSERT_LE(winners[i].load(), 1) << i;
      if (rate < 1e-8) {
        ASSERT_EQ(winners[i].load(), 1) << i;
      }
      ASSERT_TRUE(filter.contains(keys[i]));
    }
    EXPECT_EQ(filter.stats().inserted, static_cast<std::uint64_t>(std::ranges::count_if(
                                           winners, [](const auto& won) { return won == 1; })));
  }
}

TEST(CountingBloomFilter, A1_OfTwoThreadsErasingAKeyThatIsInOnceExactlyOneSucceeds) {
  constexpr std::size_t kKeys = 20'000 / (kSlowdown > 4 ? 4 : 1);
  auto filter = make_counting(kKeys, 1e-9);
  const auto keys = some_keys(kKeys);
  for (const auto key : keys)
    filter.insert(key);
  std::vector<std::atomic<int>> erased(kKeys);
  run_together(4, [&](std::size_t) {
    for (std::size_t i = 0; i < kKeys; ++i)
      erased[i].fetch_add(filter.erase(keys[i]) ? 1 : 0);
  });
  for (std::size_t i = 0; i < kKeys; ++i)
    ASSERT_EQ(erased[i].load(), 1) << i;
  EXPECT_TRUE(all_zero(words_of(filter)));
}

TEST(CountingBloomFilter, ConcurrentInsertsAndErasesEndAsOneAfterTheOtherDo) {
  // Each thread inserts keys of its own and keys that all have, and erases some of what it
  // inserted itself. Small, so that all meet in the same words; not so full that counters saturate.
  constexpr std::uint64_t kSeed = 20240711;
  SCOPED_TRACE(kSeed);
  constexpr std::size_t kThreads = 4;
  auto filter = make_counting(6'000, 1e-3);
  auto model = make_counting(6'000, 1e-3);
  std::vector<std::unordered_map<std::uint64_t, int>> left(kThreads);
  run_together(kThreads, [&](std::size_t t) {
    std::mt19937_64 random(kSeed + t);
    std::vector<std::uint64_t> mine;
    for (int i = 0; i < 20'000; ++i) {
      if (mine.size() < 1'000 && random() % 2 == 0) {
        const std::uint64_t n =
            random() % 3 == 0 ? random() % 500 : (t + 1) * 100'000 + random() % 500;
        if (left[t][n] == 2) continue;  // at most twice a thread, so that no counter saturates
        filter.insert(nth_key(n));
        ++left[t][n];
        mine.push_back(n);
      } else if (!mine.empty()) {
        std::swap(mine[random() % mine.size()], mine.back());
        ASSERT_TRUE(filter.contains(nth_key(mine.back())));
        ASSERT_TRUE(filter.erase(nth_key(mine.back())));
        --left[t][mine.back()];
        mine.pop_back();
      }
    }
  });
  for (const auto& of_thread : left) {
    for (const auto& [n, count] : of_thread) {
      for (int i = 0; i < count; ++i)
        model.insert(nth_key(n));
    }
  }
  const auto words = words_of(filter);
  for (const std::uint64_t word : words) {
    for (unsigned shift = 0; shift < 64; shift += 4)
      ASSERT_NE(word >> shift & 15, 15u) << "a counter saturated: the test's parameters are wrong";
  }
  EXPECT_EQ(words, words_of(model));
  EXPECT_EQ(filter.stats().inserted, model.stats().inserted);
}

TEST(CountingBloomFilter, A2_LookupsNeverMissAKeyWhileOthersComeAndGo) {
  constexpr std::size_t kStaying = 2'000;
  auto filter = make_counting(kStaying, 1e-1);  // every counter is shared with keys that go
  const auto staying = some_keys(kStaying);
  for (const auto key : staying)
    filter.insert(key);
  std::atomic<int> writing{2};
  std::atomic<int> missed{0};
  run_together(4, [&](std::size_t t) {
    if (t < 2) {
      for (int round = 0; round < 5; ++round) {
        for (const auto key : some_keys(2'000, 10 + t))
          filter.insert(key);
        for (const auto key : some_keys(2'000, 10 + t))
          filter.erase(key);
      }
      writing.fetch_sub(1);
      return;
    }
    do {
      for (const auto key : staying)
        missed.fetch_add(filter.contains(key) ? 0 : 1);
    } while (writing.load() > 0);
  });
  EXPECT_EQ(missed.load(), 0);
}

TEST(CountingBloomFilter, LoadedFilterEqualsTheSavedOne) {
  const test::TemporaryDirectory directory;
  auto filter = make_counting(50'000, 1e-4);
  const auto keys = some_keys(50'000);
  for (const auto key : keys)
    filter.insert(key);
  const auto size = filter.save(directory / "one");
  ASSERT_TRUE(size) << size.error().message;
  auto loaded = CountingBloomFilter::load(directory / "one");
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_TRUE(loaded->save(directory / "two"));
  EXPECT_EQ(read_file(directory / "one", 64u << 20).value(),
            read_file(directory / "two", 64u << 20).value());
  EXPECT_EQ(loaded->stats().inserted, filter.stats().inserted);
  EXPECT_EQ(loaded->hash().key(), filter.hash().key());
  for (const auto key : keys)
    ASSERT_TRUE(loaded->erase(key));
  EXPECT_TRUE(all_zero(words_of(*loaded)));
}

TEST(CountingBloomFilter, AFileSavedWhileOthersInsertAndEraseHoldsNoHalfKey) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "filter";
  constexpr std::uint64_t kStaying = 50'000 / kSlowdown;
  constexpr std::uint64_t kWindow = 5'000 / kSlowdown;  // of each writer's keys that are in
  constexpr std::size_t kWriters = 2;
  // At 1e-9 no key is taken for one that is in; half the counters are above 0 all the same, so that
  // many a key of which some counts are missing would be found.
  auto filter = make_counting(kStaying + kWriters * kWindow, 1e-9);
  auto model = make_counting(kStaying + kWriters * kWindow, 1e-9);
  const auto staying = some_keys(kStaying);
  for (const auto key : staying) {
    ASSERT_TRUE(filter.insert(key));
    ASSERT_TRUE(model.insert(key));
  }
  const auto staying_words = words_of(model);
  std::atomic<bool> stop{false};
  std::array<std::atomic<std::uint64_t>, kWriters> begun{};  // keys below may be in
  std::vector<std::thread> writers;
  for (std::size_t t = 0; t < kWriters; ++t) {
    writers.emplace_back([&, t] {
      constexpr std::uint64_t kBatch = 50;
      bool admitted[kBatch];
      std::vector<Fingerprint> keys(kBatch);
      for (std::uint64_t first = 0; !stop.load(); first += kBatch) {
        begun[t].store(first + kBatch);
        for (std::uint64_t i = 0; i < kBatch; ++i)
          keys[i] = nth_key(first + i, 10 + t);
        if (t == 0) {
          filter.insert_batch(keys, admitted);
        } else {
          for (const auto key : keys)
            filter.insert(key);
        }
        for (std::uint64_t n = first; first >= kWindow && n < first + kBatch; ++n)
          filter.erase(nth_key(n - kWindow, 10 + t));
      }
    });
  }
  for (const auto& writer : begun) {
    while (writer.load() < 2 * kWindow)  // it erases, too
      std::this_thread::yield();
  }
  int overlapping = 0;
  for (int round = 0; round < 6 || (overlapping == 0 && round < 100); ++round) {
    const std::uint64_t before[] = {begun[0].load(), begun[1].load()};
    const auto saved = filter.save(path);
    const std::uint64_t after[] = {begun[0].load(), begun[1].load()};
    if (!saved) {
      ADD_FAILURE() << saved.error().message;
      break;
    }
    overlapping += before[0] < after[0] && before[1] < after[1] ? 1 : 0;
    auto loaded = CountingBloomFilter::load(path);
    if (!loaded) {
      ADD_FAILURE() << loaded.error().message;
      break;
    }
    const auto missing = [&] {
      return std::ranges::count_if(staying, [&](auto key) { return !loaded->contains(key); });
    };
    EXPECT_EQ(missing(), 0);
    for (std::size_t t = 0; t < kWriters; ++t) {
      for (std::uint64_t n = 0; n < after[t]; ++n) {
        const auto key = nth_key(n, 10 + t);
        if (loaded->contains(key)) loaded->erase(key);
      }
    }
    EXPECT_EQ(missing(), 0) << "erasing other keys lost them";
    EXPECT_EQ(words_of(*loaded), staying_words);
    EXPECT_EQ(loaded->stats().inserted, kStaying);
  }
  stop = true;
  for (auto& writer : writers)
    writer.join();
  EXPECT_GT(overlapping, 0) << "no save met a writer";
}

TEST(CountingBloomFilter, FilesWithImpossibleParametersAreRefused) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "filter";
  const auto load_with = [&](std::uint32_t hashes, std::uint32_t detail) {
    const SnapshotHeader header{.kind = FilterKind::kCounting,
                                .capacity = 100,
                                .target_rate = 1e-2,
                                .sections = {{.words = 64,
                                              .capacity = 100,
                                              .target_rate = 1e-2,
                                              .inserted = 0,
                                              .hashes = hashes,
                                              .detail = detail}}};
    const auto written =
        save_snapshot(path, header, [](std::size_t, std::uint64_t, std::span<std::uint64_t> out) {
          std::ranges::fill(out, ~std::uint64_t{0});
        });
    EXPECT_TRUE(written);
    return CountingBloomFilter::load(path);
  };
  EXPECT_TRUE(load_with(7, 4));
  for (const auto& [hashes, detail] :
       std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 4}, {65, 4}, {7, 0}, {7, 8}}) {
    const auto refused = load_with(hashes, detail);
    ASSERT_FALSE(refused) << hashes << ' ' << detail;
    EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(refused.error().message.find(path), std::string::npos);
  }
}

TEST(CountingBloomFilter, ImpossibleOptionsAreErrorsThatSayWhy) {
  const auto code_of = [](std::uint64_t capacity, double rate) {
    return CountingBloomFilter::create({.capacity = capacity, .false_positive_rate = rate})
        .error()
        .code;
  };
  EXPECT_EQ(code_of(0, 1e-2), ErrorCode::kInvalidArgument);
  for (const double rate : {0.0, 1.0, -1.0, 1e-16, std::nan("")})
    EXPECT_EQ(code_of(10, rate), ErrorCode::kInvalidArgument) << rate;
  const auto huge = CountingBloomFilter::create({.capacity = 1'000'000'000'000'000});
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().code, ErrorCode::kNoSpace);
  EXPECT_NE(huge.error().message.find("TiB"), std::string::npos) << huge.error().message;
  EXPECT_FALSE(CountingBloomFilter::create({.capacity = ~std::uint64_t{0}}));
}

}  // namespace
}  // namespace trawl
