// What filter_size() says of a filter is what create() makes and save() writes.
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "trawl/blocked_bloom_filter.h"
#include "trawl/classic_bloom_filter.h"
#include "trawl/counting_bloom_filter.h"
#include "trawl/cuckoo_filter.h"
#include "trawl/growing_bloom_filter.h"
#include "trawl/mapped_filter.h"
#include "trawl/sizing.h"

#include "tests/support/filter_keys.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

constexpr FilterKind kKinds[] = {FilterKind::kBlocked, FilterKind::kGrowing, FilterKind::kClassic,
                                 FilterKind::kCounting, FilterKind::kCuckoo};
using ClassicOptions = ClassicBloomFilter::Options;

template <class Filter>
class FilterSizes : public testing::Test {};
using Filters = testing::Types<BlockedBloomFilter, GrowingBloomFilter, ClassicBloomFilter,
                               CountingBloomFilter, CuckooFilter>;
TYPED_TEST_SUITE(FilterSizes, Filters);

TYPED_TEST(FilterSizes, AreThoseOfTheFiltersThatAreMade) {
  for (const std::uint64_t capacity : {1ULL, 21ULL, 1'000ULL, 100'000ULL, 12'345'678ULL}) {
    for (const double rate : {0.5, 0.05, 1e-2, 1e-4, 1e-6, 1e-9}) {
      SCOPED_TRACE(testing::Message() << capacity << " keys at " << rate);
      const auto filter = TypeParam::create({.capacity = capacity, .false_positive_rate = rate});
      const auto size =
          filter_size(TypeParam::kKind, {.capacity = capacity, .false_positive_rate = rate});
      ASSERT_EQ(filter.has_value(), size.has_value());
      if (!size) continue;
      const FilterStats stats = filter->stats();
      EXPECT_EQ(size->kind, TypeParam::kKind);
      EXPECT_EQ(size->memory_bytes(), stats.memory_bytes);
      EXPECT_EQ(size->bits, 8 * stats.memory_bytes);
      EXPECT_EQ(size->hashes, stats.hashes);
      EXPECT_EQ(size->capacity, stats.capacity);
      EXPECT_EQ(size->target_rate, stats.target_rate);
      EXPECT_LE(size->rate, rate * 1.04);
      EXPECT_NEAR(size->bits_per_key * static_cast<double>(capacity),
                  static_cast<double>(size->bits), 1e-6 * static_cast<double>(size->bits));
    }
  }
}

TYPED_TEST(FilterSizes, AreThoseOfAFullFilterAndItsFile) {
  constexpr std::uint64_t kKeys = 200'000;
  const test::TemporaryDirectory directory;
  const std::string path = directory / "filter";
  auto filter =
      TypeParam::create(
          {.capacity = kKeys, .false_positive_rate = 1e-3, .hash = KeyedHash::from_seed(1)})
          .value();
  const auto answers = std::make_unique<bool[]>(kKeys);
  ASSERT_TRUE(
      Result<std::size_t>(filter.insert_batch(test::some_keys(kKeys, 1), {answers.get(), kKeys})));
  const auto size =
      filter_size(TypeParam::kKind, {.capacity = kKeys, .false_positive_rate = 1e-3}).value();
  const auto saved = filter.save(path);
  ASSERT_TRUE(saved) << saved.error().message;
  EXPECT_EQ(size.file_bytes, *saved);
  EXPECT_EQ(size.file_bytes, std::filesystem::file_size(path));
  EXPECT_EQ(MappedFilter::open(path)->stats().memory_bytes, size.memory_bytes());
  EXPECT_NEAR(filter.stats().current_rate, size.rate, size.rate * 0.02);
  constexpr std::uint64_t kOthers = 2'000'000;
  const auto found = std::make_unique<bool[]>(kOthers);
  const auto measured = static_cast<double>(
      filter.contains_batch(test::some_keys(kOthers, 2), {found.get(), kOthers}));
  const double expected = size.rate * static_cast<double>(kOthers);
  EXPECT_NEAR(measured, expected, 5 * std::sqrt(expected) + 0.02 * expected);
}

TYPED_TEST(FilterSizes, TheReverseFits) {
  constexpr FilterKind kKind = TypeParam::kKind;
  for (const double rate : {0.3, 1e-2, 1e-4, 1e-6}) {
    for (const std::uint64_t bits : {1ULL << 12, 1'000'000ULL, 8ULL << 30, 24ULL << 33}) {
      SCOPED_TRACE(testing::Message() << bits << " bits at " << rate);
      const auto bits_for = [&](std::uint64_t keys) {
        return filter_size(kKind, {.capacity = keys, .false_positive_rate = rate})->bits;
      };
      const auto keys = filter_capacity(kKind, rate, bits);
      ASSERT_TRUE(keys) << keys.error().message;
      EXPECT_LE(bits_for(*keys), bits);
      EXPECT_GT(bits_for(*keys + 1), bits);
      const auto lowest = filter_rate(kKind, *keys, bits);
      ASSERT_TRUE(lowest) << lowest.error().message;
      EXPECT_LE(*lowest, rate);
      const auto back =
          filter_size(kKind, {.capacity = *keys, .false_positive_rate = *lowest}).value();
      EXPECT_LE(back.bits, bits);
      if (kKind != FilterKind::kCuckoo && bits > 100'000) {
        EXPECT_GE(*lowest, rate * 0.94);
      }
    }
  }
}

TEST(FilterSize, ClassicFiltersOfTheBitsAndHashesThatTheLiteratureHas) {
  const auto check = [](const ClassicOptions& options, std::uint64_t bits, unsigned hashes) {
    const auto filter = ClassicBloomFilter::create(options).value();
    const FilterStats stats = filter.stats();
    EXPECT_EQ(8 * stats.memory_bytes, bits);
    EXPECT_EQ(stats.hashes, hashes);
    EXPECT_EQ(stats.capacity, options.capacity);
    const double rate =
        bloom_rate(static_cast<double>(options.capacity), static_cast<double>(bits), hashes);
    EXPECT_EQ(stats.target_rate, rate);
    const auto size = filter_size(FilterKind::kClassic, options).value();
    EXPECT_EQ(size.bits, bits);
    EXPECT_EQ(size.hashes, hashes);
    EXPECT_EQ(size.rate, rate);
    EXPECT_EQ(size.target_rate, rate);
  };
  check({.capacity = 1'000'000, .bits = 2 << 24, .hashes = 6}, 33'554'432, 6);
  check({.capacity = 1'000, .bits = 2 << 24, .hashes = 6}, 33'554'432, 6);
  check({.capacity = 1'000'000, .bits_per_key = 20, .hashes = 14}, 20'000'256, 14);
  check({.capacity = 1'000'000, .bits_per_key = 20}, 20'000'256, 14);
  check({.capacity = 1'000'000, .bits_per_key = 10}, 10'000'384, 7);
  check({.capacity = 1'000'000, .bits = 1'000'000'000}, 1'000'000'000, 64);
  check({.capacity = 3, .bits = 1}, 512, 64);
  EXPECT_NEAR(filter_size(FilterKind::kClassic,
                          {.capacity = 10'000'000'000, .bits_per_key = 20, .hashes = 14})
                  ->rate,
              6.71e-5, 0.005e-5);
}

TEST(FilterSize, HashesAndARateGiveTheBits) {
  for (const unsigned hashes : {1U, 3U, 7U, 20U, 64U}) {
    const auto filter = ClassicBloomFilter::create(
        {.capacity = 1'000'000, .false_positive_rate = 0.01, .hashes = hashes});
    const FilterStats stats = filter->stats();
    EXPECT_EQ(stats.hashes, hashes);
    EXPECT_EQ(stats.target_rate, 0.01);
    EXPECT_NEAR(bloom_rate(1e6, 8.0 * static_cast<double>(stats.memory_bytes), hashes), 0.01, 1e-5);
  }
  EXPECT_NEAR(bloom_keys(bloom_bits_with_hashes(1e6, 1e-3, 5), 1e-3, 5), 1e6, 1e-3);
  // With the best number of hashes that is the formula without one.
  EXPECT_NEAR(bloom_bits_with_hashes(1e6, 0.125, 3), bloom_bits(1e6, 0.125), 1);
  EXPECT_EQ(classic_bloom_capacity(2 << 24, 6, 1e-2), 3'489'200u);
  EXPECT_NEAR(static_cast<double>(classic_bloom_capacity(9'585'059, 0, 0.01)), 1e6, 2);
  EXPECT_EQ(classic_bloom_capacity(1, 0, 1e-9), 1u);
}

TEST(FilterSize, AFilterOfASizeMeasuresAsItsStatsSayAndIsSavedAndMerged) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "filter";
  const ClassicOptions options{
      .capacity = 100'000, .hash = KeyedHash::from_seed(2), .bits_per_key = 8, .hashes = 3};
  auto filter = ClassicBloomFilter::create(options).value();
  const auto answers = std::make_unique<bool[]>(1'000'000);
  filter.insert_batch(test::some_keys(100'000, 1), {answers.get(), 100'000});
  const double measured = static_cast<double>(filter.contains_batch(test::some_keys(1'000'000, 2),
                                                                    {answers.get(), 1'000'000})) /
                          1e6;
  EXPECT_NEAR(measured, filter.stats().target_rate, 0.03 * measured);
  EXPECT_NEAR(measured, 0.0306, 0.001);
  EXPECT_FALSE(filter.stats().overfull());
  ASSERT_TRUE(filter.save(path));
  auto loaded = ClassicBloomFilter::load(path).value();
  EXPECT_EQ(loaded.stats().target_rate, filter.stats().target_rate);
  EXPECT_EQ(loaded.stats().hashes, 3u);
  EXPECT_TRUE(loaded.merge(ClassicBloomFilter::create(options).value()));
  auto other = options;
  other.hashes = 4;
  EXPECT_FALSE(loaded.merge(ClassicBloomFilter::create(other).value()));
}

template <class T>
void expect_refused(const Result<T>& result, const char* reason) {
  ASSERT_FALSE(result) << reason;
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(result.error().message.find(reason), std::string::npos) << result.error().message;
}

TEST(FilterSize, SenselessSizesAreRefusedWithTheReason) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const auto refused = [](const ClassicOptions& options, const char* reason) {
    expect_refused(ClassicBloomFilter::create(options), reason);
    expect_refused(filter_size(FilterKind::kClassic, options), reason);
  };
  refused({.capacity = 0, .bits = 1000}, "capacity");
  refused({.capacity = 100, .bits = 1000, .bits_per_key = 10}, "given twice");
  for (const double bits : {-1.0, nan, infinity, -infinity})
    refused({.capacity = 100, .bits_per_key = bits}, "bits per key");
  refused({.capacity = 100, .bits_per_key = 1e300}, "bytes");
  refused({.capacity = 100, .bits = ~std::uint64_t{0}}, "bytes");
  refused({.capacity = 100, .hashes = 65}, "from 1 to 64 hashes, not 65");
  refused({.capacity = 1'000'000, .bits = 1000, .hashes = 6}, "finds every key");
  refused({.capacity = 100, .false_positive_rate = 0, .hashes = 5}, "rate");
  refused({.capacity = ~std::uint64_t{0}, .hashes = 5}, "bytes");
  for (const FilterKind kind : kKinds) {
    expect_refused(filter_size(kind, {.capacity = 0}), "capacity");
    expect_refused(filter_size(kind, {.capacity = 1, .false_positive_rate = nan}), "rate");
    expect_refused(filter_capacity(kind, 1.5, 1 << 20), "rate");
    expect_refused(filter_capacity(kind, 0.01, 1), "at least");
    expect_refused(filter_rate(kind, 1'000'000, 1000), "at least");
    expect_refused(filter_rate(kind, 0, 1000), "capacity");
    if (kind == FilterKind::kClassic) continue;
    expect_refused(filter_size(kind, {.bits = 1 << 20}), "classic");
    expect_refused(filter_size(kind, {.bits_per_key = 10}), "classic");
    expect_refused(filter_size(kind, {.hashes = 7}), "classic");
  }
}

TEST(FilterSize, ACapacityThatWasFarOffIsTold) {
  auto grown = GrowingBloomFilter::create({.capacity = 1000}).value();
  const auto insert = [&grown](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t i = from; i < to; ++i)
      grown.insert(test::nth_key(i));
  };
  EXPECT_EQ(better_capacity(grown.stats()), std::nullopt);
  insert(0, 1000);
  EXPECT_EQ(better_capacity(grown.stats()), std::nullopt);
  insert(1000, 1001);
  EXPECT_EQ(better_capacity(grown.stats()), 1100u);
  insert(1001, 54'321);
  EXPECT_EQ(better_capacity(grown.stats()), 55'000u);

  FilterStats large{.capacity = 100'000'000, .target_rate = 1e-6, .inserted = 49'000'000};
  const auto bytes_for = [](std::uint64_t keys) {
    return filter_size(FilterKind::kGrowing, {.capacity = keys})->memory_bytes();
  };
  large.memory_bytes = bytes_for(large.capacity);
  EXPECT_EQ(better_capacity(large), 49'000'000u);
  large.inserted = 51'000'000;
  EXPECT_EQ(better_capacity(large), std::nullopt);
  // Not worth a word.
  large = {.capacity = 10'000'000, .target_rate = 1e-6, .inserted = 10};
  large.memory_bytes = bytes_for(large.capacity);
  EXPECT_EQ(better_capacity(large), std::nullopt);
}

}  // namespace
}  // namespace trawl
