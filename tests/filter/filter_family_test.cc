// What holds for every kind of filter.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/filter/filter_kinds.h"
#include "tests/support/filter_keys.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

static_assert(MembershipFilter<BlockedBloomFilter>);
static_assert(MembershipFilter<GrowingBloomFilter>);
static_assert(MembershipFilter<ClassicBloomFilter>);
static_assert(MembershipFilter<CountingBloomFilter>);
static_assert(MembershipFilter<CuckooFilter>);

bool answer(bool inserted) {
  return inserted;
}
bool answer(const Result<bool>& inserted) {
  return inserted.value();
}
std::size_t answer(std::size_t inserted) {
  return inserted;
}
std::size_t answer(const Result<std::size_t>& inserted) {
  return inserted.value();
}

using test::some_keys;

template <class Filter>
class FilterFamily : public testing::Test {
 protected:
  static typename Filter::Options options(std::uint64_t capacity, double rate = 1e-4) {
    typename Filter::Options options;
    options.capacity = capacity;
    options.false_positive_rate = rate;
    options.hash = KeyedHash::from_seed(1);
    return options;
  }
};

TYPED_TEST_SUITE(FilterFamily, test::FilterKinds, test::KindName);

TYPED_TEST(FilterFamily, TellsNewOnceAndFindsWhatWasInserted) {
  auto filter = TypeParam::create(this->options(1'000, 1e-6)).value();
  for (const Fingerprint key : some_keys(1'000, 1)) {
    EXPECT_FALSE(filter.contains(key));
    EXPECT_TRUE(answer(filter.insert(key)));
    EXPECT_FALSE(answer(filter.insert(key)));
    EXPECT_TRUE(filter.contains(key));
  }
  const FilterStats stats = filter.stats();
  EXPECT_EQ(stats.capacity, 1'000u);
  EXPECT_EQ(stats.target_rate, 1e-6);
  EXPECT_GT(stats.memory_bytes, 2'000u);
  EXPECT_GT(stats.fill, 0);
  EXPECT_GT(stats.current_rate, 0);
  EXPECT_LE(stats.current_rate, 1.02e-6);
}

TYPED_TEST(FilterFamily, SavedAndLoadedAnswersTheSame) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "filter";
  auto filter = TypeParam::create(this->options(20'000, 1e-2)).value();
  const auto keys = some_keys(20'000, 2);
  const auto admitted = std::make_unique<bool[]>(keys.size());
  const std::span<bool> answers(admitted.get(), keys.size());
  const std::size_t fresh = answer(filter.insert_batch(keys, answers));
  EXPECT_EQ(fresh, static_cast<std::size_t>(std::ranges::count(answers, true)));
  ASSERT_TRUE(filter.save(path));

  const auto loaded = TypeParam::load(path);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->hash().key(), filter.hash().key());
  EXPECT_EQ(loaded->stats().inserted, filter.stats().inserted);
  EXPECT_EQ(loaded->stats().capacity, filter.stats().capacity);
  EXPECT_EQ(loaded->contains_batch(keys, answers), keys.size());
  const auto others = some_keys(50'000, 3);
  for (const Fingerprint key : others)
    ASSERT_EQ(loaded->contains(key), filter.contains(key));
}

TYPED_TEST(FilterFamily, AFileOfAnotherKindIsRefusedByName) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "filter";
  if (TypeParam::kKind == FilterKind::kBlocked) {
    ASSERT_TRUE(ClassicBloomFilter::create({.capacity = 10}).value().save(path));
  } else {
    ASSERT_TRUE(BlockedBloomFilter::create({.capacity = 10}).value().save(path));
  }
  const auto loaded = TypeParam::load(path);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(loaded.error().message.find(name_of(TypeParam::kKind)), std::string::npos)
      << loaded.error().message;
}

TYPED_TEST(FilterFamily, ImpossibleOptionsAreErrorsThatSayWhy) {
  for (const double rate : {0.0, -1.0, 1.0, 2.0, std::nan(""), 1e-300}) {
    const auto filter = TypeParam::create(this->options(1'000, rate));
    ASSERT_FALSE(filter) << rate;
    EXPECT_EQ(filter.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(filter.error().message.find("rate"), std::string::npos) << filter.error().message;
  }
  const auto none = TypeParam::create(this->options(0));
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("capacity"), std::string::npos) << none.error().message;
  for (const std::uint64_t capacity : {std::uint64_t{1} << 45, ~std::uint64_t{0}}) {
    const auto huge = TypeParam::create(this->options(capacity));
    ASSERT_FALSE(huge) << capacity;
    EXPECT_NE(huge.error().message.find("need"), std::string::npos) << huge.error().message;
  }
}

TYPED_TEST(FilterFamily, AnEmptyBatchAndASingleCapacityWork) {
  auto filter = TypeParam::create(this->options(1)).value();
  EXPECT_EQ(answer(filter.insert_batch({}, {})), 0u);
  EXPECT_EQ(filter.contains_batch({}, {}), 0u);
  EXPECT_TRUE(answer(filter.insert(Fingerprint{})));
  EXPECT_TRUE(filter.contains(Fingerprint{}));
}

TYPED_TEST(FilterFamily, MovedFiltersKeepTheirKeys) {
  auto first = TypeParam::create(this->options(100)).value();
  const auto keys = some_keys(100, 4);
  for (const Fingerprint key : keys)
    ASSERT_TRUE(answer(first.insert(key)) || first.contains(key));
  auto second = std::move(first);
  auto third = TypeParam::create(this->options(5)).value();
  third = std::move(second);
  for (const Fingerprint key : keys)
    EXPECT_TRUE(third.contains(key));
}

}  // namespace
}  // namespace trawl
