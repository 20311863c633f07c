// Threads that insert at the same time, into filters of every kind: their answers are those of the
// filter's rate of false positives allows, and no more.
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/filter/filter_kinds.h"
#include "tests/support/filter_keys.h"

namespace trawl {
namespace {

constexpr std::size_t kThreads = 2;  // more do not run at the same time everywhere

std::size_t count(std::size_t fresh) {
  return fresh;
}
std::size_t count(const Result<std::size_t>& fresh) {
  return fresh.value();
}
std::size_t count(bool fresh) {
  return fresh ? 1 : 0;
}
std::size_t count(const Result<bool>& fresh) {
  return fresh.value() ? 1 : 0;
}

struct Told {
  std::uint64_t keys = 0;  // that were inserted, each once
  std::uint64_t seen = 0;  // of them
  double expected = 0;     // how many that may be
};

// Fills filters of `capacity`, one after the other, until `keys` were inserted: each key by one
// thread, one by one in every other filter, in batches in the others.
template <class Filter>
Told told_of_disjoint_keys(std::uint64_t capacity, std::uint64_t keys, std::uint64_t fill) {
  constexpr std::size_t kBatch = 25;
  Told told;
  std::unique_ptr<Filter> filter;
  std::atomic<std::uint64_t> fresh{0};
  const std::uint64_t rounds = (keys + fill - 1) / fill;
  std::uint64_t round = 0;
  const auto prepare = [&]() noexcept {
    if (filter) {
      told.keys += fill / kThreads / kBatch * kBatch * kThreads;
      told.expected += filter->stats().expected_false_positives;
    }
    typename Filter::Options options;
    options.capacity = capacity;
    options.false_positive_rate = 1e-6;
    filter = std::make_unique<Filter>(Filter::create(options).value());
    ++round;
  };
  std::barrier next(kThreads, prepare);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      bool admitted[kBatch];
      std::vector<Fingerprint> mine(fill / kThreads / kBatch * kBatch);
      std::uint64_t told_new = 0;
      for (std::uint64_t r = 0; r < rounds; ++r) {
        for (std::size_t i = 0; i < mine.size(); ++i)
          mine[i] = test::nth_key(t * fill + i, r);
        next.arrive_and_wait();
        for (std::size_t i = 0; i < mine.size(); i += kBatch) {
          const std::span<const Fingerprint> part(mine.data() + i, kBatch);
          if (round % 2 == 0) {
            told_new += count(filter->insert_batch(part, admitted));
          } else {
            for (const Fingerprint key : part)
              told_new += count(filter->insert(key));
          }
        }
      }
      next.arrive_and_wait();
      fresh += told_new;
    });
  }
  for (auto& thread : threads)
    thread.join();
  told.seen = told.keys - fresh;
  return told;
}

template <class Filter>
class ExactlyOnceThreads : public testing::Test {};

TYPED_TEST_SUITE(ExactlyOnceThreads, test::FilterKinds, test::KindName);

#ifdef __SANITIZE_THREAD__
constexpr std::uint64_t kTimes = 1;
#elif defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kTimes = 4;
#else
constexpr std::uint64_t kTimes = 20;
#endif

void expect_as_stated(const Told& told) {
  const auto seen = static_cast<double>(told.seen);
  EXPECT_LE(seen, told.expected + 5 * std::sqrt(told.expected) + 3)
      << "of " << told.keys << " keys, each inserted once";
}

#ifdef __SANITIZE_THREAD__
constexpr std::uint64_t kKeysAtOnce = 100'000;
#else
constexpr std::uint64_t kKeysAtOnce = 250'000;
#endif

// With sequential inserts about one key in 10^7 is a false positive while a filter is filled. Where
// a caller could lose its key to another one's it were hundreds.
TYPED_TEST(ExactlyOnceThreads, OfDisjointKeysNoMoreAreToldSeenThanTheRateAllows) {
  expect_as_stated(told_of_disjoint_keys<TypeParam>(1'000, kTimes * kKeysAtOnce, 1'000));
  expect_as_stated(told_of_disjoint_keys<TypeParam>(100'000, kTimes * 50'000, 100'000));
}

// A filter that is half full, so that many keys lack little.
template <class Filter>
Filter crowded_filter() {
  typename Filter::Options options;
  options.capacity = 100;
  options.false_positive_rate = 0.02;
  auto filter = Filter::create(options).value();
  for (const Fingerprint key : test::some_keys(60, 3))
    count(filter.insert(key));
  return filter;
}

// Where the search below finds its first pair: it takes long, most of all where threads are
// watched.
constexpr std::uint64_t first_pair(FilterKind kind) {
  switch (kind) {
    case FilterKind::kBlocked:
      return 502;
    case FilterKind::kGrowing:
      return 2'559;
    case FilterKind::kClassic:
      return 8'393;
    case FilterKind::kCounting:
      return 461;
    default:
      return 0;
  }
}

// Two keys that are not in the crowded filter, each of which is seen after the other was inserted.
template <class Filter>
std::pair<Fingerprint, Fingerprint> keys_taken_for_each_other() {
  const auto is_seen_after = [](Fingerprint first, Fingerprint second) {
    auto filter = crowded_filter<Filter>();
    return count(filter.insert(first)) == 1 && filter.contains(second);
  };
  const auto before = crowded_filter<Filter>();
  auto others = test::some_keys(3'000, 5);
  std::erase_if(others, [&](const Fingerprint& other) { return before.contains(other); });
  for (std::uint64_t n = first_pair(Filter::kKind);; ++n) {
    const Fingerprint one = test::nth_key(n, 4);
    if (before.contains(one)) continue;
    auto after = crowded_filter<Filter>();
    EXPECT_EQ(count(after.insert(one)), 1u);
    for (const Fingerprint other : others) {
      if (after.contains(other) && is_seen_after(other, one)) return {one, other};
    }
  }
}

// In either order the first of them is new and the second is not.
TYPED_TEST(ExactlyOnceThreads, OfTwoKeysTakenForEachOtherExactlyOneIsNew) {
  const auto keys = keys_taken_for_each_other<TypeParam>();
  std::unique_ptr<TypeParam> filter;
  std::barrier next(
      2, [&]() noexcept { filter = std::make_unique<TypeParam>(crowded_filter<TypeParam>()); });
  constexpr std::size_t kRounds = 50 * kTimes;
  std::vector<std::array<std::size_t, 2>> told_new(kRounds);
  std::vector<std::thread> threads;
  for (const std::size_t t : {0u, 1u}) {
    threads.emplace_back([&, t] {
      for (std::size_t round = 0; round < kRounds; ++round) {
        next.arrive_and_wait();
        told_new[round][t] = count(filter->insert(t == 0 ? keys.first : keys.second));
      }
      next.arrive_and_wait();
    });
  }
  for (auto& thread : threads)
    thread.join();
  for (const auto& told : told_new)
    ASSERT_EQ(told[0] + told[1], 1u);
}

// The layers begin while the threads insert.
TEST(ExactlyOnceThreadsOfAGrowingFilter, OfDisjointKeysNoMoreAreToldSeenThanTheRateAllows) {
  expect_as_stated(told_of_disjoint_keys<GrowingBloomFilter>(100, kTimes * 100'000, 10'000));
}

template <class Filter>
void expect_a_merge_beside_inserts_loses_no_key() {
  for (std::uint64_t round = 0; round < 2 * kTimes; ++round) {
    const FilterOptions options{
        .capacity = 4'000, .false_positive_rate = 1e-6, .hash = KeyedHash::from_seed(1)};
    auto filter = Filter::create(options).value();
    auto other = Filter::create(options).value();
    const auto inserted = test::some_keys(2'000, 1);
    const auto merged = test::some_keys(2'000, 2);
    for (const Fingerprint key : merged)
      other.insert(key);
    std::barrier start(2);
    std::thread inserter([&] {
      start.arrive_and_wait();
      for (const Fingerprint key : inserted)
        filter.insert(key);
    });
    start.arrive_and_wait();
    for (int i = 0; i < 5; ++i)
      ASSERT_TRUE(filter.merge(other));
    inserter.join();
    const auto found = std::make_unique<bool[]>(inserted.size());
    const std::span<bool> answers(found.get(), inserted.size());
    ASSERT_EQ(filter.contains_batch(inserted, answers), inserted.size());
    ASSERT_EQ(filter.contains_batch(merged, answers), merged.size());
  }
}

TEST(MergeBesideInserts, A2_LosesNoKeyOfABlockedFilter) {
  expect_a_merge_beside_inserts_loses_no_key<BlockedBloomFilter>();
}
TEST(MergeBesideInserts, A2_LosesNoKeyOfAClassicFilter) {
  expect_a_merge_beside_inserts_loses_no_key<ClassicBloomFilter>();
}

}  // namespace
}  // namespace trawl
