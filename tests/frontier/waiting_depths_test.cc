// With which depths URLs wait: exact while there is room, on the safe side beyond.
#include "frontier/commit/waiting_depths.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "frontier/store/memory_plan.h"

namespace trawl {
namespace {

constexpr std::uint64_t kMuch = 3u << 20;
constexpr std::uint64_t kLittle = 1u << 20;  // that marks take; one bucket of each table is left

Fingerprint key_of_url(std::uint64_t i) {
  static const KeyedHash hash = KeyedHash::from_seed(1);
  return hash(std::to_string(i));
}

TEST(WaitingDepths, OnlyWhatWaitsDeeperIsDeeper) {
  WaitingDepths depths(kMuch);
  EXPECT_FALSE(depths.any_deeper(0));
  depths.add(key_of_url(1), 5);
  depths.add(key_of_url(2), 9);
  depths.add(key_of_url(3), 0);
  EXPECT_TRUE(depths.any_deeper(8));
  EXPECT_FALSE(depths.any_deeper(9));
  EXPECT_TRUE(depths.is_deeper(key_of_url(1), 4));
  EXPECT_FALSE(depths.is_deeper(key_of_url(1), 5)) << "its own";
  EXPECT_FALSE(depths.is_deeper(key_of_url(3), 0));
  EXPECT_FALSE(depths.is_deeper(key_of_url(4), 0)) << "it does not wait";
  depths.lower(key_of_url(1), 3);
  EXPECT_FALSE(depths.is_deeper(key_of_url(1), 3)) << "noted";
  EXPECT_TRUE(depths.is_deeper(key_of_url(1), 2));
  EXPECT_TRUE(depths.is_deeper(key_of_url(2), 3)) << "another URL";
  depths.remove(key_of_url(1), 5);
  EXPECT_FALSE(depths.is_deeper(key_of_url(1), 0)) << "it is done";
  EXPECT_FALSE(depths.may_wait(key_of_url(1)));
  EXPECT_TRUE(depths.may_wait(key_of_url(2)));
}

TEST(WaitingDepths, OneThatWaitsTwiceIsAsDeepAsTheDeeper) {
  WaitingDepths depths(kMuch);
  depths.add(key_of_url(1), 5);
  depths.remove_double(key_of_url(1));
  EXPECT_TRUE(depths.may_wait(key_of_url(1))) << "it was there once";
  depths.add(key_of_url(1), 7);
  EXPECT_TRUE(depths.is_deeper(key_of_url(1), 6));
  depths.remove(key_of_url(1), 7);
  EXPECT_FALSE(depths.is_deeper(key_of_url(1), 6));
  EXPECT_TRUE(depths.is_deeper(key_of_url(1), 4));
  depths.add(key_of_url(1), 8);
  depths.remove_double(key_of_url(1));
  depths.remove(key_of_url(1), 5);
  EXPECT_FALSE(depths.may_wait(key_of_url(1)));
}

TEST(WaitingDepths, NotesAreLookedUpWhereThereMayBeAny) {
  WaitingDepths depths(kMuch);
  depths.add(key_of_url(1), 5);
  depths.add(key_of_url(2), 5);
  depths.lower(key_of_url(1), 2);
  EXPECT_FALSE(depths.may_be_noted(key_of_url(1), 5)) << "there are none at all";
  depths.expect_notes();
  EXPECT_TRUE(depths.may_be_noted(key_of_url(1), 5));
  EXPECT_FALSE(depths.may_be_noted(key_of_url(1), 2)) << "no smaller one";
  EXPECT_FALSE(depths.may_be_noted(key_of_url(2), 5));
  EXPECT_TRUE(depths.may_be_noted(key_of_url(3), 5)) << "nothing is known of it";
}

TEST(WaitingDepths, GreatDepthsAreNotedAgainRatherThanMissed) {
  WaitingDepths depths(kMuch);
  depths.add(key_of_url(1), 100'000);
  EXPECT_TRUE(depths.is_deeper(key_of_url(1), 900));
  depths.lower(key_of_url(1), 900);
  EXPECT_TRUE(depths.is_deeper(key_of_url(1), 800));
  EXPECT_FALSE(depths.any_deeper(100'000));
  depths.expect_notes();
  EXPECT_TRUE(depths.may_be_noted(key_of_url(1), 800));
  depths.lower(key_of_url(1), 254);
  EXPECT_FALSE(depths.is_deeper(key_of_url(1), 254));
  EXPECT_TRUE(depths.is_deeper(key_of_url(1), 253));
}

TEST(WaitingDepths, AsManyFitAsTheMemoryIsFor) {
  WaitingDepths depths(kMuch);
  const std::uint64_t n = (kMuch - kLittle) / 4 * 3 / 4;
  for (std::uint64_t i = 0; i < n; ++i)
    depths.add(key_of_url(i), 1 + i % 7);
  EXPECT_FALSE(depths.is_full());
  EXPECT_LE(depths.memory(), kMuch);
  EXPECT_GE(depths.memory(), kMuch * 9 / 10);
  std::uint64_t wrong = 0, waiting = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    ASSERT_TRUE(depths.is_deeper(key_of_url(i), i % 7)) << i;
    wrong += depths.is_deeper(key_of_url(i), 1 + i % 7) ? 1 : 0;
    waiting += depths.may_wait(key_of_url(n + i)) ? 1 : 0;
  }
  // 24 bits in 64 places: four in a million.
  EXPECT_LE(wrong, 10u);
  EXPECT_LE(waiting, 10u);
  for (std::uint64_t i = 0; i < n; ++i)
    depths.remove(key_of_url(i), 1 + i % 7);
  for (std::uint64_t i = 0; i < n; ++i)
    ASSERT_FALSE(depths.may_wait(key_of_url(i))) << i;
}

TEST(WaitingDepths, FewShareTheirPages) {
  const std::uint64_t ordinary = MemoryPlan::of(256u << 20).depths;
  constexpr std::uint64_t kFew = 50'000;
  constexpr std::uint64_t kMany = 100'000;
  WaitingDepths depths(ordinary);
  for (std::uint64_t i = 0; i < kFew; ++i)
    depths.add(key_of_url(i), 1);
  EXPECT_LE(depths.memory(), kLittle + (256u << 10));
  for (std::uint64_t i = kFew; i < kMany; ++i)
    depths.add(key_of_url(i), 2);
  EXPECT_GT(depths.memory(), kLittle + (256u << 10));
  for (std::uint64_t i = 0; i < kMany; ++i) {
    ASSERT_TRUE(depths.is_deeper(key_of_url(i), i < kFew ? 0 : 1)) << i;
    depths.lower(key_of_url(i), 0);
    ASSERT_FALSE(depths.is_deeper(key_of_url(i), 0)) << i;
    depths.remove(key_of_url(i), 1);
    ASSERT_FALSE(depths.may_wait(key_of_url(i))) << i;
  }
}

TEST(WaitingDepths, M1_WithoutRoomMoreIsDeeperNotLess) {
  WaitingDepths depths(kLittle);
  for (std::uint64_t i = 0; i < 100; ++i)
    depths.add(key_of_url(i), 1 + i % 7);
  EXPECT_TRUE(depths.is_full());
  EXPECT_LE(depths.memory(), kLittle + 4096);
  for (std::uint64_t i = 0; i < 100; ++i)
    EXPECT_TRUE(depths.is_deeper(key_of_url(i), i % 7)) << i;
  EXPECT_FALSE(depths.is_deeper(key_of_url(1000), 7)) << "nothing is";
  EXPECT_TRUE(depths.is_deeper(key_of_url(1000), 3)) << "it may wait";
  EXPECT_FALSE(depths.is_deeper(key_of_url(1000), 3, true)) << "noted lately";
}

TEST(WaitingDepths, OthersMayBeAnywhere) {
  WaitingDepths depths(kMuch);
  depths.add(key_of_url(1), 2);
  depths.assume_others(6);
  EXPECT_TRUE(depths.is_deeper(key_of_url(2), 5));
  EXPECT_FALSE(depths.is_deeper(key_of_url(2), 6));
  EXPECT_FALSE(depths.is_deeper(key_of_url(1), 2)) << "of this one the depth is known";
}

// In each round one of two threads sees what the other did with URL `i`, in `depths_of(i)`.
void expect_a_mark_or_the_url_is_seen(
    std::uint64_t rounds, const std::function<WaitingDepths&(std::uint64_t)>& depths_of) {
  std::atomic<std::uint64_t> round{0}, done{0};
  std::atomic<int> missed{0};
  std::atomic<bool> saw_mark{false};
  std::thread offers([&] {
    for (std::uint64_t i = 1; i <= rounds; ++i) {
      while (round.load() < i)
        std::this_thread::yield();
      WaitingDepths& depths = depths_of(i);
      static_cast<void>(depths.mark(key_of_url(i), 3));
      WaitingDepths::full_fence();
      const bool saw_url = depths.is_deeper(key_of_url(i), 3);
      while (done.load() < i)
        std::this_thread::yield();
      if (!saw_url && !saw_mark.load()) ++missed;
      done.store(0);
    }
  });
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    const Fingerprint key = key_of_url(i);
    WaitingDepths& depths = depths_of(i);
    round.store(i);
    depths.add(key, 9);
    WaitingDepths::full_fence();
    saw_mark.store(depths.marked(key) == 3);
    done.store(i);
    while (done.load() != 0)
      std::this_thread::yield();
  }
  offers.join();
  EXPECT_EQ(missed.load(), 0);
}

TEST(WaitingDepths, AMarkOrTheUrlIsSeen) {
  WaitingDepths depths(kMuch);
  expect_a_mark_or_the_url_is_seen(3'000, [&](std::uint64_t) -> WaitingDepths& { return depths; });
}

// Also if the URL is the first for which the small table has no room.
TEST(WaitingDepths, AMarkOrTheFirstUrlOfTheSecondTableIsSeen) {
  constexpr std::uint64_t kRounds = 200;
  constexpr std::uint64_t kRoom = 16;  // of one bucket
  std::vector<std::unique_ptr<WaitingDepths>> tables;
  for (std::uint64_t i = 0; i <= kRounds; ++i) {
    tables.push_back(std::make_unique<WaitingDepths>(kLittle));
    for (std::uint64_t other = 0; other < kRoom; ++other)
      tables.back()->add(key_of_url(1'000'000 + other), 1);
  }
  expect_a_mark_or_the_url_is_seen(kRounds,
                                   [&](std::uint64_t i) -> WaitingDepths& { return *tables[i]; });
  EXPECT_FALSE(tables[1]->is_full()) << "it had room there";
}

TEST(WaitingDepths, MarksAreOfTheSmallestDepthOfOneUrl) {
  WaitingDepths depths(kMuch);
  EXPECT_EQ(depths.marked(key_of_url(1)), std::nullopt);
  EXPECT_FALSE(depths.mark(key_of_url(1), 4));
  EXPECT_TRUE(depths.mark(key_of_url(1), 5));
  EXPECT_FALSE(depths.mark(key_of_url(1), 3));
  EXPECT_EQ(depths.marked(key_of_url(1)), 3u);
  depths.unmark(key_of_url(2));
  EXPECT_EQ(depths.marked(key_of_url(1)), 3u);
  depths.unmark(key_of_url(1));
  EXPECT_EQ(depths.marked(key_of_url(1)), std::nullopt);
}

}  // namespace
}  // namespace trawl
