#include "trawl/cuckoo_filter.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
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

static_assert(MembershipFilter<CuckooFilter>);

using test::kSlowdown;
using test::nth_key;
using test::run_together;
using test::some_keys;

CuckooFilter make_cuckoo(std::uint64_t capacity, double rate) {
  auto filter = CuckooFilter::create(
      {.capacity = capacity, .false_positive_rate = rate, .hash = KeyedHash::from_seed(1)});
  if (!filter) throw std::runtime_error(filter.error().message);
  return std::move(*filter);
}

TEST(CuckooFilter, InsertTellsNewOnceAndEraseTakesItOut) {
  auto filter = make_cuckoo(1000, 1e-8);
  const Fingerprint key = nth_key(0);
  EXPECT_FALSE(filter.contains(key));
  EXPECT_FALSE(filter.erase(key));
  EXPECT_TRUE(filter.insert(key).value());
  EXPECT_FALSE(filter.insert(key).value());
  EXPECT_TRUE(filter.contains(key));
  EXPECT_EQ(filter.stats().inserted, 1u);
  EXPECT_TRUE(filter.erase(key)) << "a set: it is there once";
  EXPECT_FALSE(filter.contains(key));
  EXPECT_FALSE(filter.erase(key));
  EXPECT_EQ(filter.stats().inserted, 0u);
  EXPECT_TRUE(filter.insert(key).value());
}

TEST(CuckooFilter, CopiesAreStoredUntilTheSlotsOfTheKeyAreTaken) {
  auto filter = make_cuckoo(1000, 1e-8);
  const Fingerprint key = nth_key(0);
  EXPECT_EQ(filter.count(key), 0u);
  for (unsigned copies = 1; copies <= 8; ++copies) {
    ASSERT_TRUE(filter.insert_copy(key));
    EXPECT_EQ(filter.count(key), copies);
    EXPECT_FALSE(filter.insert(key).value()) << "it is present";
  }
  EXPECT_EQ(filter.insert_copy(key).error().code, ErrorCode::kNoSpace);
  EXPECT_EQ(filter.stats().inserted, 8u);
  const auto copy = filter.copy();
  ASSERT_TRUE(copy);
  for (unsigned copies = 8; copies > 0; --copies) {
    ASSERT_TRUE(filter.contains(key));
    ASSERT_TRUE(filter.erase(key));
    EXPECT_EQ(filter.count(key), copies - 1);
  }
  EXPECT_FALSE(filter.erase(key));
  EXPECT_EQ(copy->count(key), 8u);
  EXPECT_EQ(copy->stats().inserted, 8u);
}

TEST(CuckooFilter, CopiesOfManyKeysLoseNoOtherKey) {
  auto filter = make_cuckoo(10'000, 1e-8);
  constexpr std::uint64_t kKeys = 3000;
  for (std::uint64_t i = 0; i < kKeys; ++i)
    for (std::uint64_t copy = 0; copy <= i % 3; ++copy)
      ASSERT_TRUE(filter.insert_copy(nth_key(i)));
  for (std::uint64_t i = 0; i < kKeys; ++i)
    ASSERT_EQ(filter.count(nth_key(i)), 1 + i % 3) << i;
}

TEST(CuckooFilter, MeasuredRateIsTheComputedOne) {
  for (const double rate : {1e-2, 1e-3, 1e-4, 1e-6}) {
    SCOPED_TRACE(rate);
    if (kSlowdown > 1 && rate < 1e-3) continue;  // too few probes would find one
    constexpr std::uint64_t kKeys = 300'000;
    const std::uint64_t probes = (rate < 1e-5 ? 20'000'000 : 4'000'000) / kSlowdown;
    auto filter = make_cuckoo(kKeys, rate);
    std::uint64_t called_new = 0;
    for (std::uint64_t i = 0; i < kKeys; ++i)
      called_new += filter.insert(nth_key(i)).value() ? 1 : 0;
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
    EXPECT_EQ(stats.hashes, 2u);
  }
}

TEST(CuckooFilter, CapacityFitsAndTheTableFillsTo95PercentBeforeAnInsertFails) {
  for (const std::uint64_t capacity : {1'000u, 1'003u, 5'000u, 31'000u, 200'000u, 1'000'000u}) {
    for (std::uint64_t seed = 1; seed <= (capacity < 100'000 ? 5u : 1u); ++seed) {
      SCOPED_TRACE(capacity);
      SCOPED_TRACE(seed);
      auto filter = make_cuckoo(capacity, 1e-4);
      std::uint64_t in = 0;
      for (std::uint64_t i = 0;; ++i) {
        const auto inserted = filter.insert(nth_key(i, seed));
        if (inserted) {
          in += *inserted ? 1 : 0;
          continue;
        }
        EXPECT_EQ(inserted.error().code, ErrorCode::kNoSpace);
        EXPECT_NE(inserted.error().message.find("full"), std::string::npos)
            << inserted.error().message;
        break;
      }
      EXPECT_GE(in, capacity);
      EXPECT_GE(filter.stats().fill, 0.95);
      EXPECT_LE(filter.stats().fill, 1.0);
      EXPECT_EQ(filter.stats().inserted, in);
      EXPECT_EQ(filter.stats().overfull(), filter.stats().current_rate > 1.05e-4);
    }
  }
}

TEST(CuckooFilter, CapacityFitsInSmallTablesWhateverTheKeys) {
  for (const std::uint64_t capacity : {1u, 5u, 29u, 64u, 90u, 200u, 400u}) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      auto filter = make_cuckoo(capacity, 1e-3);
      for (std::uint64_t i = 0; i < capacity; ++i)
        ASSERT_TRUE(filter.insert(nth_key(i, seed))) << capacity << " keys of seed " << seed;
    }
  }
}

TEST(CuckooFilter, A2_AFullTableLosesNoKeyAndTakesOneAgainAfterAnErase) {
  for (const std::uint64_t capacity : {50u, 3'000u}) {
    SCOPED_TRACE(capacity);
    auto filter = make_cuckoo(capacity, 1e-8);
    std::vector<Fingerprint> in;
    int failures = 0;
    for (std::uint64_t i = 0; failures < 200; ++i) {
      const auto inserted = filter.insert(nth_key(i));
      if (!inserted) {
        ++failures;
        EXPECT_FALSE(filter.contains(nth_key(i)));
      } else if (*inserted) {
        in.push_back(nth_key(i));
      }
    }
    EXPECT_EQ(filter.stats().inserted, in.size());
    for (const auto key : in)
      ASSERT_TRUE(filter.contains(key));
    ASSERT_TRUE(filter.erase(in.front()));
    EXPECT_TRUE(filter.insert(in.front()).value());
  }
}

TEST(CuckooFilter, ErasingHalfLeavesTheOtherHalf) {
  auto filter = make_cuckoo(20'000, 1e-8);
  const auto keys = some_keys(20'000);
  for (const auto key : keys)
    ASSERT_TRUE(filter.insert(key).value());
  for (std::size_t i = 0; i < keys.size(); i += 2)
    ASSERT_TRUE(filter.erase(keys[i]));
  for (std::size_t i = 0; i < keys.size(); ++i)
    ASSERT_EQ(filter.contains(keys[i]), i % 2 == 1) << i;
  for (const auto absent : some_keys(20'000, 2))
    ASSERT_FALSE(filter.erase(absent));
  EXPECT_EQ(filter.stats().inserted, 10'000u);
  for (std::size_t i = 1; i < keys.size(); i += 2)
    ASSERT_TRUE(filter.erase(keys[i]));
  EXPECT_EQ(filter.stats().fill, 0.0);
}

TEST(CuckooFilter, BatchesAnswerAsSingleCallsDo) {
  auto single = make_cuckoo(6'000, 1e-2);
  auto batched = make_cuckoo(6'000, 1e-2);
  auto keys = some_keys(5'000);
  keys.insert(keys.end(), keys.begin(), keys.begin() + 100);
  for (const std::size_t size : {0u, 1u, 15u, 16u, 17u, 333u, 5'100u}) {
    SCOPED_TRACE(size);
    const std::span<const Fingerprint> part(keys.data(), size);
    auto answers = std::make_unique<bool[]>(size + 1);
    const std::span<bool> admitted(answers.get(), size);
    const auto fresh = batched.insert_batch(part, admitted);
    ASSERT_TRUE(fresh) << fresh.error().message;
    std::size_t expected = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const bool is_new = single.insert(part[i]).value();
      EXPECT_EQ(admitted[i], is_new) << i;
      expected += is_new ? 1 : 0;
    }
    EXPECT_EQ(*fresh, expected);
    EXPECT_EQ(batched.contains_batch(part, admitted), size);
  }
  EXPECT_EQ(single.stats().inserted, batched.stats().inserted);
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

TEST(CuckooFilter, A2_AdmittedKeysAreErasedInAnyOrderWithoutLosingAnother) {
  constexpr std::uint64_t kSeed = 20240711;
  SCOPED_TRACE(kSeed);
  constexpr std::size_t kParts = 20;
  auto filter = make_cuckoo(100'000 / kSlowdown, 1e-2);
  std::vector<Fingerprint> admitted;
  std::vector<Fingerprint> taken_for_one;
  for (const auto key : some_keys(100'000 / kSlowdown))
    (filter.insert(key).value() ? admitted : taken_for_one).push_back(key);
  EXPECT_GT(taken_for_one.size(), 100u / kSlowdown) << "nothing to test: no two keys share a tag";
  std::shuffle(admitted.begin(), admitted.end(), std::mt19937_64(kSeed));
  std::size_t erased = 0;
  for (std::size_t part = 1; part <= kParts; ++part) {
    for (; erased < admitted.size() * part / kParts; ++erased)
      ASSERT_TRUE(filter.erase(admitted[erased]));
    for (std::size_t i = erased; i < admitted.size(); ++i)
      ASSERT_TRUE(filter.contains(admitted[i])) << i << " of " << erased;
    EXPECT_EQ(filter.stats().inserted, admitted.size() - erased);
  }
  // Nothing is promised of keys whose insert() returned false: they were erased with the others.
  for (const auto key : taken_for_one)
    EXPECT_FALSE(filter.contains(key));
}

TEST(CuckooFilter, ABatchThatDoesNotFitTellsHowFarItGot) {
  auto filter = make_cuckoo(1'000, 1e-8);
  const auto keys = some_keys(3'000);
  auto answers = std::make_unique<bool[]>(keys.size());
  std::fill_n(answers.get(), keys.size(), true);
  const auto inserted = filter.insert_batch(keys, {answers.get(), keys.size()});
  ASSERT_FALSE(inserted);
  EXPECT_EQ(inserted.error().code, ErrorCode::kNoSpace);
  const std::uint64_t in = filter.stats().inserted;
  EXPECT_GE(in, 1'000u);
  EXPECT_NE(inserted.error().message.find(std::to_string(in) + " of the 3000 keys"),
            std::string::npos)
      << inserted.error().message;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(answers[i], i < in) << i;
    ASSERT_EQ(filter.contains(keys[i]), i < in) << i;
  }
}

TEST(CuckooFilter, A1_ConcurrentInsertsOfOneKeyAdmitAtMostOne) {
  for (const double rate : {1e-8, 3e-2}) {
    SCOPED_TRACE(rate);
    constexpr std::size_t kKeys = 30'000;
    auto filter = make_cuckoo(kKeys, rate);
    const auto keys = some_keys(kKeys);
    std::vector<std::atomic<int>> winners(kKeys);
    run_together(4, [&](std::size_t t) {
      constexpr std::size_t kBatch = 50;
      bool admitted[kBatch];
      for (std::size_t first = 0; first < kKeys; first += kBatch) {
        if (t % 2 == 0) {
          ASSERT_TRUE(filter.insert_batch({keys.data() + first, kBatch}, admitted));
        } else {
          for (std::size_t i = 0; i < kBatch; ++i)
            admitted[i] = filter.insert(keys[first + i]).value();
        }
        for (std::size_t i = 0; i < kBatch; ++i)
          winners[first + i].fetch_add(admitted[i] ? 1 : 0);
      }
    });
    std::uint64_t admitted = 0;
    for (std::size_t i = 0; i < kKeys; ++i) {
      ASSERT_LE(winners[i].load(), 1) << i;
      if (rate < 1e-7) {
        ASSERT_EQ(winners[i].load(), 1) << i;
      }
      ASSERT_TRUE(filter.contains(keys[i])) << i;
      admitted += static_cast<std::uint64_t>(winners[i].load());
    }
    EXPECT_EQ(filter.stats().inserted, admitted);
  }
}

TEST(CuckooFilter, A1_ConcurrentErasesOfOneKeySucceedOnce) {
  constexpr std::size_t kKeys = 20'000;
  auto filter = make_cuckoo(kKeys, 1e-8);
  const auto keys = some_keys(kKeys);
  for (const auto key : keys)
    ASSERT_TRUE(filter.insert(key).value());
  std::vector<std::atomic<int>> erased(kKeys);
  run_together(4, [&](std::size_t) {
    for (std::size_t i = 0; i < kKeys; ++i)
      erased[i].fetch_add(filter.erase(keys[i]) ? 1 : 0);
  });
  for (std::size_t i = 0; i < kKeys; ++i)
    ASSERT_EQ(erased[i].load(), 1) << i;
  EXPECT_EQ(filter.stats().inserted, 0u);
}

TEST(CuckooFilter, A2_LookupsNeverMissAKeyWhileTagsAreMoved) {
  // 92 % of the slots are taken for good; two threads push keys in and out of what is left, which
  // moves the others about all the time. A small table, so that each is moved often.
  auto filter = make_cuckoo(200, 1e-8);
  std::vector<Fingerprint> staying;
  while (filter.stats().fill < 0.92) {
    staying.push_back(nth_key(staying.size()));
    ASSERT_TRUE(filter.insert(staying.back()).value());
  }
  std::atomic<int> writing{2};
  std::atomic<int> missed{0};
  std::atomic<int> wrongly_erased{0};
  run_together(4, [&](std::size_t t) {
    if (t < 2) {
      std::vector<Fingerprint> in;
      for (std::uint64_t i = 0; i < 500'000 / kSlowdown; ++i) {
        const Fingerprint key = nth_key(i, 10 + t);
        if (const auto inserted = filter.insert(key); inserted && *inserted) in.push_back(key);
        if (in.size() < 5) continue;
        for (const auto old : in)
          wrongly_erased.fetch_add(filter.erase(old) ? 0 : 1);
        in.clear();
      }
      for (const auto old : in)
        wrongly_erased.fetch_add(filter.erase(old) ? 0 : 1);
      writing.fetch_sub(1);
      return;
    }
    auto found = std::make_unique<bool[]>(staying.size());
    do {
      for (const auto key : staying)
        missed.fetch_add(filter.contains(key) ? 0 : 1);
      missed.fetch_add(static_cast<int>(
          staying.size() - filter.contains_batch(staying, {found.get(), staying.size()})));
    } while (writing.load() > 0);
  });
  EXPECT_EQ(missed.load(), 0);
  EXPECT_EQ(wrongly_erased.load(), 0);
  EXPECT_EQ(filter.stats().inserted, staying.size());
  for (const auto key : staying)
    ASSERT_TRUE(filter.contains(key));
}

TEST(CuckooFilter, ConcurrentInsertsAndErasesOfDisjointKeysEndInTheRightSet) {
  constexpr std::size_t kThreads = 4;
  constexpr std::uint64_t kOfThread = 4'000;
  auto filter = make_cuckoo(kThreads * kOfThread, 1e-8);
  std::atomic<int> wrong{0};
  run_together(kThreads, [&](std::size_t t) {
    const auto keys = some_keys(kOfThread, 10 + t);
    for (int round = 0; round < 3; ++round) {
      for (const auto key : keys)
        wrong.fetch_add(filter.insert(key).value() ? 0 : 1);
      const std::size_t step = round < 2 ? 1 : 2;
      for (std::size_t i = 0; i < keys.size(); i += step)
        wrong.fetch_add(filter.erase(keys[i]) ? 0 : 1);
    }
  });
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(filter.stats().inserted, kThreads * kOfThread / 2);
  for (std::size_t t = 0; t < kThreads; ++t) {
    for (std::uint64_t i = 0; i < kOfThread; ++i)
      ASSERT_EQ(filter.contains(nth_key(i, 10 + t)), i % 2 == 1) << t << ' ' << i;
  }
}

TEST(CuckooFilter, LoadedFilterEqualsTheSavedOne) {
  const test::TemporaryDirectory directory;
  for (const double rate : {1e-1, 1e-3, 1e-6}) {
    SCOPED_TRACE(rate);
    auto filter = make_cuckoo(50'000, rate);
    const auto keys = some_keys(50'000);
    for (const auto key : keys)
      ASSERT_TRUE(filter.insert(key));
    const auto size = filter.save(directory / "one");
    ASSERT_TRUE(size) << size.error().message;
    auto loaded = CuckooFilter::load(directory / "one");
    ASSERT_TRUE(loaded) << loaded.error().message;
    ASSERT_TRUE(loaded->save(directory / "two"));
    EXPECT_EQ(read_file(directory / "one", 64u << 20).value(),
              read_file(directory / "two", 64u << 20).value());
    EXPECT_EQ(loaded->stats().inserted, filter.stats().inserted);
    EXPECT_EQ(loaded->stats().current_rate, filter.stats().current_rate);
    EXPECT_EQ(loaded->hash().key(), filter.hash().key());
    for (const auto key : keys)
      ASSERT_TRUE(loaded->contains(key));
  }
}

TEST(CuckooFilter, WhatIsInBeforeASaveIsInTheFileWhateverMovesMeanwhile) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "filter";
  // Several chunks, 93 % full.
  constexpr std::uint64_t kCapacity = 60'000;
  auto filter = make_cuckoo(kCapacity, 1e-6);
  const auto staying = some_keys(kCapacity * 98 / 100);
  for (const auto key : staying)
    ASSERT_TRUE(filter.insert(key));
  std::atomic<bool> stop{false};
  std::atomic<bool> moving{false};
  std::thread writer([&] {
    for (std::uint64_t i = 0; !stop.load(); i += 1'000) {
      std::vector<Fingerprint> in;
      for (std::uint64_t n = i; n < i + 1'000; ++n) {
        if (const auto added = filter.insert(nth_key(n, 2)); added && *added)
          in.push_back(nth_key(n, 2));
      }
      for (const auto key : in)
        filter.erase(key);
      moving.store(true);
    }
  });
  while (!moving.load())
    std::this_thread::yield();
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(filter.save(path));
    const auto loaded = CuckooFilter::load(path);
    ASSERT_TRUE(loaded) << loaded.error().message;
    std::size_t missed = 0;
    for (const auto key : staying)
      missed += loaded->contains(key) ? 0 : 1;
    EXPECT_EQ(missed, 0u);
  }
  stop = true;
  writer.join();
}

TEST(CuckooFilter, TheCountInAFileIsOfTheKeysInItAndBatchesAreCountedAsTheyGo) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "filter";
  constexpr std::uint64_t kKeys = 200'000 / kSlowdown;
  constexpr std::uint64_t kMaxRounds = 200;
  auto filter = make_cuckoo(kKeys, 1e-8);
  const auto keys = some_keys(kKeys);
  std::atomic<std::uint64_t> round{0};  // odd while a batch is being inserted
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    auto admitted = std::make_unique<bool[]>(kKeys);
    while (!stop.load() && round.load() < 2 * kMaxRounds) {
      round.fetch_add(1);
      EXPECT_EQ(filter.insert_batch(keys, {admitted.get(), kKeys}).value_or(0), kKeys);
      round.fetch_add(1);
      for (const auto key : keys)
        filter.erase(key);
    }
  });
  bool counted_midway = false;
  int files_midway = 0;
  while ((!counted_midway || files_midway < 3) && round.load() < 2 * kMaxRounds) {
    const std::uint64_t now = round.load();
    const std::uint64_t in = filter.stats().inserted;
    counted_midway |= now % 2 == 1 && round.load() == now && in > 0 && in < kKeys;
    if (files_midway == 3) continue;
    if (!filter.save(path)) break;
    const auto reader = SnapshotReader::open(path, FilterKind::kCuckoo);
    const auto loaded = CuckooFilter::load(path);
    if (!reader || !loaded) break;
    const std::uint64_t inserted = loaded->stats().inserted;
    EXPECT_EQ(reader->header().sections.front().inserted, inserted);
    files_midway += inserted > 0 && inserted < kKeys ? 1 : 0;
  }
  stop = true;
  writer.join();
  EXPECT_TRUE(counted_midway);
  EXPECT_EQ(files_midway, 3);
}

TEST(CuckooFilter, FilesWithImpossibleParametersAreRefused) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "filter";
  struct Parameters {
    std::uint64_t words = 40;
    std::uint64_t capacity = 200;
    std::uint32_t hashes = 2;
    std::uint32_t detail = 10;
  };
  const auto load_with = [&](Parameters with) {
    const SnapshotHeader header{.kind = FilterKind::kCuckoo,
                                .capacity = with.capacity,
                                .target_rate = 1e-2,
                                .sections = {{.words = with.words,
                                              .capacity = with.capacity,
                                              .target_rate = 1e-2,
                                              .inserted = ~std::uint64_t{0},
                                              .hashes = with.hashes,
                                              .detail = with.detail}}};
    const auto written =
        save_snapshot(path, header, [](std::size_t, std::uint64_t, std::span<std::uint64_t> out) {
          std::ranges::fill(out, ~std::uint64_t{0});
        });
    EXPECT_TRUE(written);
    return CuckooFilter::load(path);
  };
  auto full = load_with({});
  ASSERT_TRUE(full) << full.error().message;
  EXPECT_EQ(full->stats().inserted, 256u) << "counted, not believed";
  EXPECT_FALSE(full->insert(nth_key(1)));  // all tags the same: no path, and no endless search
  EXPECT_FALSE(full->contains(nth_key(1)));
  for (const Parameters& wrong :
       {Parameters{.words = 41}, Parameters{.capacity = 257}, Parameters{.hashes = 3},
        Parameters{.detail = 0}, Parameters{.words = 35, .detail = 7},
        Parameters{.words = 33, .detail = 33}, Parameters{.detail = 0xFFFFFFFF}}) {
    const auto refused = load_with(wrong);
    ASSERT_FALSE(refused) << wrong.words << ' ' << wrong.detail;
    EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(refused.error().message.find(path), std::string::npos);
  }
}

TEST(CuckooFilter, ImpossibleOptionsAreErrorsThatSayWhy) {
  const auto code_of = [](std::uint64_t capacity, double rate) {
    return CuckooFilter::create({.capacity = capacity, .false_positive_rate = rate}).error().code;
  };
  EXPECT_EQ(code_of(0, 1e-2), ErrorCode::kInvalidArgument);
  for (const double rate : {0.0, 1.0, -1.0, 1e-300, std::nan("")})
    EXPECT_EQ(code_of(10'000, rate), ErrorCode::kInvalidArgument) << rate;
  const auto narrow = CuckooFilter::create({.capacity = 10'000, .false_positive_rate = 1e-9});
  ASSERT_FALSE(narrow);
  EXPECT_EQ(narrow.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(narrow.error().message.find("32 bits"), std::string::npos) << narrow.error().message;
  const auto huge = CuckooFilter::create({.capacity = 1'000'000'000'000'000});
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().code, ErrorCode::kNoSpace);
  EXPECT_NE(huge.error().message.find("TiB"), std::string::npos) << huge.error().message;
  EXPECT_EQ(code_of(~std::uint64_t{0}, 1e-6), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace trawl
