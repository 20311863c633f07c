#include "trawl/classic_bloom_filter.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <fstream>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "trawl/sizing.h"

#include "base/file_io.h"
#include "base/mix.h"
#include "filter/classic/classic_bloom_filter_state.h"
#include "filter/classic/classic_places.h"
#include "filter/snapshot/snapshot_writer.h"
#include "tests/support/filter_keys.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

static_assert(MembershipFilter<ClassicBloomFilter>);

using test::nth_key;
using test::some_keys;

ClassicBloomFilter make_classic(std::uint64_t capacity, double rate) {
  auto filter = ClassicBloomFilter::create(
      {.capacity = capacity, .false_positive_rate = rate, .hash = KeyedHash::from_seed(1)});
  if (!filter) throw std::runtime_error(filter.error().message);
  return std::move(*filter);
}

// Inserts the keys 0 .. keys - 1 of that seed; returns how many were new.
std::uint64_t fill(ClassicBloomFilter& filter, std::uint64_t keys, std::uint64_t seed = 1) {
  const auto all = some_keys(keys, seed);
  const auto answers = std::make_unique<bool[]>(keys);
  return filter.insert_batch(all, {answers.get(), keys});
}

// How many of so many other keys are found.
std::uint64_t count_found(const ClassicBloomFilter& filter, std::uint64_t probes,
                          std::uint64_t seed = 2) {
  constexpr std::uint64_t kBatch = 1000;
  std::vector<Fingerprint> keys(kBatch);
  bool answers[kBatch];
  std::uint64_t found = 0;
  for (std::uint64_t first = 0; first < probes; first += kBatch) {
    for (std::uint64_t i = 0; i < kBatch; ++i)
      keys[i] = nth_key(first + i, seed);
    found += filter.contains_batch(keys, answers);
  }
  return found;
}

TEST(ClassicBloomFilter, InsertTellsNewOnceAndContainsFindsIt) {
  auto filter = make_classic(1000, 1e-6);
  const Fingerprint key = nth_key(0);
  EXPECT_FALSE(filter.contains(key));
  EXPECT_TRUE(filter.insert(key));
  EXPECT_FALSE(filter.insert(key));
  EXPECT_TRUE(filter.contains(key));
  EXPECT_EQ(filter.stats().inserted, 1u);
  EXPECT_EQ(filter.hash().key(), KeyedHash::from_seed(1).key());
}

TEST(ClassicBloomFilter, HasTheSizesOfTheLiterature) {
  const auto stats = make_classic(1'000'000, 0.01).stats();
  EXPECT_EQ(stats.hashes, 7u);
  EXPECT_NEAR(static_cast<double>(stats.memory_bytes) * 8, 9.585e6, 1000);
  EXPECT_EQ(stats.capacity, 1'000'000u);
  EXPECT_EQ(stats.target_rate, 0.01);
  EXPECT_EQ(stats.layers, 1u);
  EXPECT_EQ(stats.fill, 0);
  EXPECT_EQ(stats.current_rate, 0);
  EXPECT_EQ(stats.expected_false_positives, 0);
}

TEST(ClassicBloomFilter, A2_NoInsertedKeyIsEverMissedEvenFarBeyondCapacity) {
  for (const double rate : {0.5, 1e-3, 1e-15}) {
    SCOPED_TRACE(rate);
    auto filter = make_classic(5'000, rate);
    const auto keys = some_keys(50'000);
    for (const auto key : keys)
      filter.insert(key);
    for (const auto key : keys)
      ASSERT_TRUE(filter.contains(key));
  }
}

TEST(ClassicBloomFilter, BatchesAnswerAsSingleCallsDo) {
  for (const double rate : {0.7, 1e-2, 1e-15}) {  // k = 1, 7 and 50
    SCOPED_TRACE(rate);
    auto single = make_classic(5'000, rate);
    auto batched = make_classic(5'000, rate);
    auto keys = some_keys(5'000);
    keys.insert(keys.begin() + 50, keys.begin(), keys.begin() + 48);  // repeated in one batch
    const auto absent = some_keys(5'000, 2);
    for (const std::size_t size : {0u, 1u, 3u, 4u, 5u, 15u, 16u, 17u, 333u, 4718u}) {
      SCOPED_TRACE(size);
      const std::span<const Fingerprint> part(keys.data(), size);
      const auto answers = std::make_unique<bool[]>(size + 1);
      const std::span<bool> told(answers.get(), size);
      const std::size_t fresh = batched.insert_batch(part, told);
      std::size_t expected = 0;
      for (std::size_t i = 0; i < size; ++i) {
        const bool is_new = single.insert(part[i]);
        EXPECT_EQ(told[i], is_new) << i;
        expected += is_new ? 1 : 0;
      }
      EXPECT_EQ(fresh, expected);
      EXPECT_EQ(batched.contains_batch(part, told), size);
      EXPECT_TRUE(std::all_of(told.begin(), told.end(), [](bool found) { return found; }));
      // Present and absent keys mixed.
      std::vector<Fingerprint> mixed(size);
      for (std::size_t i = 0; i < size; ++i)
        mixed[i] = mix64(i) % 2 == 0 ? part[i] : absent[i];
      expected = 0;
      const std::size_t found = batched.contains_batch(mixed, told);
      for (std::size_t i = 0; i < size; ++i) {
        EXPECT_EQ(told[i], single.contains(mixed[i])) << i;
        expected += told[i] ? 1 : 0;
      }
      EXPECT_EQ(found, expected);
    }
    EXPECT_EQ(single.stats().inserted, batched.stats().inserted);
  }
}

TEST(ClassicBloomFilter, MeasuredRateIsTheComputedOne) {
  for (const double rate : {1e-2, 1e-3, 1e-4, 1e-6}) {
    SCOPED_TRACE(rate);
    constexpr std::uint64_t kKeys = 200'000;
    const std::uint64_t probes = rate < 1e-5 ? 8'000'000 : 1'500'000;
    auto filter = make_classic(kKeys, rate);
    const std::uint64_t called_new = fill(filter, kKeys);
    const auto found = static_cast<double>(count_found(filter, probes));
    const auto stats = filter.stats();
    const double expected = stats.current_rate * static_cast<double>(probes);
    const double tolerance = std::max(0.1 * expected, 3 * std::sqrt(expected));
    EXPECT_NEAR(found, expected, tolerance);
    EXPECT_LE(found, rate * static_cast<double>(probes) + tolerance);
    EXPECT_NEAR(stats.current_rate, rate, 0.02 * rate);
    // A3: the estimate of the keys wrongly called seen while filling.
    const auto lost = static_cast<double>(kKeys - called_new);
    EXPECT_NEAR(lost, stats.expected_false_positives,
                std::max(0.15 * lost, 4 * std::sqrt(stats.expected_false_positives) + 1));
    EXPECT_EQ(stats.inserted, called_new);
    EXPECT_NEAR(stats.fill, 0.5, 0.02);
    EXPECT_FALSE(stats.overfull());
  }
}

TEST(ClassicBloomFilter, MeasuredRateIsTheComputedOneInSmallFilters) {
  // Where the start and the step of plain double hashing would be too few: its rate for 200 keys
  // at 1e-4 is half as high again, and at 1e-5 several times as high.
  const struct {
    std::uint64_t keys;
    double rate;
    int filters, probes;
  } rows[] = {{100, 1e-2, 500, 1000},
              {200, 1e-3, 500, 2000},
              {200, 1e-4, 500, 8000},
              {300, 1e-5, 300, 20000}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.rate);
    double found = 0;
    double expected = 0;
    for (int i = 0; i < row.filters; ++i) {
      auto filter = make_classic(row.keys, row.rate);
      const auto seed = static_cast<std::uint64_t>(2 * i);
      fill(filter, row.keys, seed);
      found += static_cast<double>(
          count_found(filter, static_cast<std::uint64_t>(row.probes), seed + 1));
      expected += filter.stats().current_rate * row.probes;
    }
    EXPECT_NEAR(found, expected, std::max(0.1 * expected, 3 * std::sqrt(expected)));
  }
}

TEST(ClassicBloomFilter, PlacesAreThoseOfTheFileFormat) {
  // By hand, from the formula in classic_places.h.
  const Fingerprint key{.high = 0x0123456789abcdef, .low = 0x9e6c63d0676a9a98};
  const std::uint64_t bits = (std::uint64_t{1} << 40) + 512;
  ClassicPlaces places(key, bits);
  for (std::uint64_t i = 0; i < 50; ++i) {
    const std::uint64_t x = key.high + i * (key.low | 1);
    const std::uint64_t mixed = (x ^ (x >> 32)) * 0x9e3779b97f4a7c15;
    const auto product = static_cast<Uint128>(mixed) * bits;
    EXPECT_EQ(places.next(), static_cast<std::uint64_t>(product >> 64)) << i;
  }
  ClassicPlaces again(key, 1024);
  EXPECT_EQ(again.next(), 74u);
  EXPECT_EQ(again.next(), 201u);
  EXPECT_EQ(again.next(), 922u);
}

TEST(ClassicBloomFilter, PlacesAreEvenlySpreadAndIndependentInLargeFilters) {
  const std::uint64_t bits = std::uint64_t{9} << 38;  // 2.5e12, far beyond 2^32
  constexpr std::uint64_t kKeys = 50'000;
  constexpr unsigned kHashes = 14;
  constexpr std::size_t kParts = 64;
  std::vector<double> high(kParts), low(kParts), pairs(kParts * kParts);
  for (std::uint64_t n = 0; n < kKeys; ++n) {
    ClassicPlaces places(nth_key(n), bits);
    std::uint64_t before = 0;
    for (unsigned i = 0; i < kHashes; ++i) {
      const std::uint64_t place = places.next();
      ASSERT_LT(place, bits);
      const std::size_t part = place / (bits / kParts);
      ++high[part];
      ++low[place % kParts];
      if (i > 0) ++pairs[before * kParts + part];
      before = part;
    }
  }
  // Chi squared has a mean of d and a variance of 2d for d degrees of freedom.
  const auto expect_even = [](const std::vector<double>& counts, double total) {
    const double expected = total / static_cast<double>(counts.size());
    double chi_squared = 0;
    for (const double count : counts)
      chi_squared += (count - expected) * (count - expected) / expected;
    const double degrees = static_cast<double>(counts.size()) - 1;
    EXPECT_NEAR(chi_squared, degrees, 5 * std::sqrt(2 * degrees));
  };
  expect_even(high, kKeys * kHashes);
  expect_even(low, kKeys * kHashes);
  expect_even(pairs, kKeys * (kHashes - 1.0));
}

TEST(ClassicBloomFilter, OverfillingWorksAndItsStatsSaySo) {
  for (const std::uint64_t keys : {2'500u, 4'000u, 10'000u}) {
    SCOPED_TRACE(keys);
    auto filter = make_classic(1'000, 1e-3);
    fill(filter, keys);
    const auto stats = filter.stats();
    EXPECT_TRUE(stats.overfull());
    EXPECT_GT(stats.current_rate, 100 * stats.target_rate);
    EXPECT_GT(stats.fill, 0.75);
    EXPECT_NEAR(static_cast<double>(count_found(filter, 100'000)) / 1e5, stats.current_rate,
                0.1 * stats.current_rate);
    const auto lost = static_cast<double>(keys - stats.inserted);
    EXPECT_NEAR(stats.expected_false_positives, lost, 0.2 * lost);
  }
}

// Inserts the keys in batches of the given size in several threads at once; returns how many of
// insert() returned true for each.
std::vector<int> insert_concurrently(ClassicBloomFilter& filter,
                                     const std::vector<Fingerprint>& keys, std::size_t batch) {
  constexpr std::size_t kThreads = 4;
  std::vector<std::atomic<int>> winners(keys.size());
  std::barrier start(static_cast<std::ptrdiff_t>(kThreads));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      const auto admitted = std::make_unique<bool[]>(batch);
      start.arrive_and_wait();
      for (std::size_t first = 0; first < keys.size(); first += batch) {
        filter.insert_batch({keys.data() + first, batch}, {admitted.get(), batch});
        for (std::size_t i = 0; i < batch; ++i) {
          if (admitted[i]) winners[first + i].fetch_add(1);
        }
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  return {winners.begin(), winners.end()};
}

TEST(ClassicBloomFilter, A1_ConcurrentInsertsOfOneKeyAdmitAtMostOne) {
  for (const std::size_t batch : {1u, 50u}) {
    SCOPED_TRACE(batch);
    auto filter = make_classic(20'000, 1e-9);
    const auto keys = some_keys(20'000);
    // At 1e-9 none of so few keys is a false positive, so that "at most" is "exactly".
    for (const int winners : insert_concurrently(filter, keys, batch))
      ASSERT_EQ(winners, 1);
    EXPECT_EQ(filter.stats().inserted, keys.size());
  }
}

TEST(ClassicBloomFilter, A1_ConcurrentBatchesInACrowdedFilterAdmitAtMostOne) {
  // Few bits, so that the threads meet in the same words and other keys' bits interfere.
  auto filter = make_classic(2'000, 1e-2);
  const auto keys = some_keys(20'000);
  const auto winners = insert_concurrently(filter, keys, 50);
  std::uint64_t admitted = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_LE(winners[i], 1) << i;
    ASSERT_TRUE(filter.contains(keys[i]));
    admitted += static_cast<std::uint64_t>(winners[i]);
  }
  EXPECT_EQ(filter.stats().inserted, admitted);
}

TEST(ClassicBloomFilter, AKeyWhosePlacesCoincideIsNewOnce) {
  // 50 places among 512 bits: nearly every key has some that coincide.
  for (std::uint64_t n = 0; n < 1000; ++n) {
    auto filter = make_classic(1, 1e-15);
    ASSERT_EQ(filter.stats().memory_bytes, 64u);
    ASSERT_TRUE(filter.insert(nth_key(n)));
    ASSERT_FALSE(filter.insert(nth_key(n)));
    ASSERT_TRUE(filter.contains(nth_key(n)));
  }
}

class ClassicBloomFilterFile : public ::testing::Test {
 protected:
  static std::string contents_of(const std::string& path) { return *read_file(path, 64u << 20); }
  static void write_contents(const std::string& path, const std::string& contents) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << contents;
  }
  test::TemporaryDirectory directory_;
  std::string path_ = directory_ / "filter.ckpt";
};

TEST_F(ClassicBloomFilterFile, LoadedFilterEqualsTheSavedOneAndIsSavedInTheSameBytes) {
  auto filter = make_classic(100'000, 1e-3);
  fill(filter, 50'000);
  const auto written = filter.save(path_);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(*written, contents_of(path_).size());
  auto loaded = ClassicBloomFilter::load(path_);
  ASSERT_TRUE(loaded) << loaded.error().message;
  for (std::uint64_t i = 0; i < 50'000; ++i)
    ASSERT_TRUE(loaded->contains(nth_key(i)));
  EXPECT_EQ(count_found(*loaded, 100'000), count_found(filter, 100'000));
  const auto stats = filter.stats();
  const auto again = loaded->stats();
  EXPECT_EQ(again.capacity, stats.capacity);
  EXPECT_EQ(again.target_rate, stats.target_rate);
  EXPECT_EQ(again.inserted, stats.inserted);
  EXPECT_EQ(again.memory_bytes, stats.memory_bytes);
  EXPECT_EQ(again.hashes, stats.hashes);
  EXPECT_EQ(again.fill, stats.fill);
  EXPECT_EQ(again.expected_false_positives, stats.expected_false_positives);
  EXPECT_EQ(loaded->hash().key(), filter.hash().key());
  const std::string second = directory_ / "second.ckpt";
  ASSERT_TRUE(loaded->save(second));
  EXPECT_EQ(contents_of(path_), contents_of(second));
}

TEST_F(ClassicBloomFilterFile, DamageIsRefused) {
  auto filter = make_classic(100'000, 1e-3);
  fill(filter, 50'000);
  ASSERT_TRUE(filter.save(path_));
  const std::string whole = contents_of(path_);
  constexpr std::uint64_t kSeed = 31;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 40; ++i) {
    std::string damaged = whole;
    const std::size_t at = i < 10 ? random() % 4096 : random() % whole.size();
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
    write_contents(path_, damaged);
    const auto loaded = ClassicBloomFilter::load(path_);
    ASSERT_FALSE(loaded) << at;
    EXPECT_EQ(loaded.error().code, ErrorCode::kCorrupt);
  }
  write_contents(path_, whole.substr(0, whole.size() / 2));
  EXPECT_EQ(ClassicBloomFilter::load(path_).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(ClassicBloomFilter::load(directory_ / "none").error().code, ErrorCode::kNotFound);
}

TEST_F(ClassicBloomFilterFile, ImpossibleParametersAreRefusedAndAbsurdOnesAreHarmless) {
  const auto load_with = [&](const SnapshotSection& section, FilterKind kind) {
    const SnapshotHeader header{.kind = kind,
                                .hash_key = {},
                                .capacity = section.capacity,
                                .target_rate = section.target_rate,
                                .sections = {section}};
    const auto zeros = [](std::size_t, std::uint64_t, std::span<std::uint64_t> out) {
      std::ranges::fill(out, 0);
    };
    EXPECT_TRUE(save_snapshot(path_, header, zeros));
    return ClassicBloomFilter::load(path_);
  };
  const SnapshotSection good{
      .words = 16, .capacity = 100, .target_rate = 0.01, .inserted = 0, .hashes = 7, .detail = 0};
  EXPECT_TRUE(load_with(good, FilterKind::kClassic));
  EXPECT_EQ(load_with(good, FilterKind::kBlocked).error().code, ErrorCode::kInvalidArgument);
  for (const unsigned hashes : {0u, 65u, 0xffffffffu}) {
    auto bad = good;
    bad.hashes = hashes;
    EXPECT_EQ(load_with(bad, FilterKind::kClassic).error().code, ErrorCode::kCorrupt);
  }
  auto bad = good;
  bad.words = 15;
  EXPECT_EQ(load_with(bad, FilterKind::kClassic).error().code, ErrorCode::kCorrupt);
  bad = good;
  bad.detail = 1;
  EXPECT_EQ(load_with(bad, FilterKind::kClassic).error().code, ErrorCode::kCorrupt);
  auto absurd = good;
  absurd.inserted = ~std::uint64_t{0};
  absurd.hashes = 64;
  const auto loaded = load_with(absurd, FilterKind::kClassic);
  ASSERT_TRUE(loaded);
  EXPECT_TRUE(std::isfinite(loaded->stats().expected_false_positives));
  absurd.inserted = absurd.capacity = ~std::uint64_t{0} - 1;
  const auto stats = load_with(absurd, FilterKind::kClassic)->stats();
  EXPECT_NEAR(stats.current_rate, 1, 1e-9);
  EXPECT_TRUE(std::isfinite(stats.expected_false_positives));
}

TEST(ClassicBloomFilter, MergedFilterHasTheKeysOfBoth) {
  auto one = make_classic(40'000, 1e-3);
  auto other = make_classic(40'000, 1e-3);
  fill(one, 15'000, 1);
  fill(other, 15'000, 2);
  const auto merged = one.merge(other);
  ASSERT_TRUE(merged) << merged.error().message;
  for (const std::uint64_t seed : {1u, 2u}) {
    for (std::uint64_t i = 0; i < 15'000; ++i)
      ASSERT_TRUE(one.contains(nth_key(i, seed)));
  }
  EXPECT_NEAR(static_cast<double>(one.stats().inserted), 30'000, 300);
  EXPECT_FALSE(one.insert(nth_key(0, 2)));
  // As if all had been inserted into one.
  auto all = make_classic(40'000, 1e-3);
  fill(all, 15'000, 1);
  fill(all, 15'000, 2);
  EXPECT_EQ(one.stats().fill, all.stats().fill);
  EXPECT_EQ(count_found(one, 100'000, 3), count_found(all, 100'000, 3));
}

TEST(ClassicBloomFilter, FiltersThatDifferCannotBeMerged) {
  auto filter = make_classic(1000, 1e-3);
  const auto expect_refused = [&](const ClassicBloomFilter& other, const char* reason) {
    const auto merged = filter.merge(other);
    ASSERT_FALSE(merged);
    EXPECT_EQ(merged.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(merged.error().message.find(reason), std::string::npos) << merged.error().message;
  };
  expect_refused(make_classic(1001, 1e-3), "capacities differ, 1000 and 1001");
  expect_refused(make_classic(1000, 1e-2), "false-positive rates differ, 0.001 and 0.01");
  expect_refused(
      ClassicBloomFilter::create(
          {.capacity = 1000, .false_positive_rate = 1e-3, .hash = KeyedHash::from_seed(2)})
          .value(),
      "hash keys differ");
}

TEST(ClassicBloomFilter, ImpossibleOptionsAreErrorsThatSayWhy) {
  EXPECT_EQ(ClassicBloomFilter::create({.capacity = 0}).error().code, ErrorCode::kInvalidArgument);
  for (const double rate : {0.0, 1.0, -1.0, std::nan("")}) {
    EXPECT_EQ(ClassicBloomFilter::create({.capacity = 1, .false_positive_rate = rate}).error().code,
              ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(ClassicBloomFilter::create({.capacity = ~std::uint64_t{0}}).error().code,
            ErrorCode::kInvalidArgument);
  const auto huge = ClassicBloomFilter::create({.capacity = 1'000'000'000'000'000});
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().code, ErrorCode::kNoSpace);
  EXPECT_NE(huge.error().message.find("TiB"), std::string::npos) << huge.error().message;
}

}  // namespace
}  // namespace trawl
