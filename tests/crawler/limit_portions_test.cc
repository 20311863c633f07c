#include "crawler/decide/limit_portions.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "crawler/decide/crawl_limits.h"
#include "crawler/decide/page_quota.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;

// The limit of a crawl, as its crawlers share it: portions of a hundredth of what is left.
class SharedCounter {
 public:
  LimitSource source() {
    return {.take = [this](std::uint64_t limit, std::uint64_t need) { return take(limit, need); },
            .give_back = [this](std::uint64_t amount) { return give_back(amount); },
            .taken = [this]() -> Result<std::uint64_t> { return taken(); }};
  }
  std::uint64_t taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }
  void fail_with(std::optional<ErrorCode> code) {
    const std::lock_guard lock(mutex_);
    failure_ = code;
  }
  int calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  Result<std::uint64_t> take(std::uint64_t limit, std::uint64_t need) {
    const std::lock_guard lock(mutex_);
    ++calls_;
    if (failure_) return error(*failure_, "the source fails");
    const std::uint64_t left = limit - std::min(limit, taken_);
    const std::uint64_t portion =
        std::min(std::max(std::clamp<std::uint64_t>(left / 100, 1, 1000), need), left);
    taken_ += portion;
    return portion;
  }
  Result<void> give_back(std::uint64_t amount) {
    const std::lock_guard lock(mutex_);
    if (failure_) return error(*failure_, "the source fails");
    EXPECT_LE(amount, taken_);
    taken_ -= amount;
    return {};
  }

  mutable std::mutex mutex_;
  std::uint64_t taken_ = 0;
  int calls_ = 0;
  std::optional<ErrorCode> failure_;
};

void wait_until(const std::function<bool()>& condition) {
  while (!condition())
    std::this_thread::sleep_for(milliseconds(1));
}

struct Member {
  Member(SharedCounter& counter, std::optional<std::uint64_t> limit)
      : portions(
            counter.source(), limit,
            {.changed = [this] { ++changes; }, .failed = [this](const Error&) { ++failures; }}),
        pages(portions) {
    portions.start();
  }

  // Takes pages, and finishes them.
  std::uint64_t fetch(std::uint64_t wanted) {
    const std::uint64_t taken = pages.take(wanted);
    for (std::uint64_t i = 0; i < taken; ++i)
      pages.finish_one();
    return taken;
  }

  std::atomic<int> changes{0};
  std::atomic<int> failures{0};
  LimitPortions portions;
  PageQuota pages;
};

TEST(LimitPortions, AreTakenWithoutWaitingForThem) {
  SharedCounter counter;
  Member member(counter, 10'000);
  wait_until([&] { return member.pages.take(1) == 1; });
  // The next portion comes before this one is used up.
  std::uint64_t taken = 1;
  wait_until([&] {
    taken += member.pages.take(7);
    return taken > 1000;
  });
  EXPECT_FALSE(member.pages.used_up());
  EXPECT_TRUE(member.portions.close().has_value());
  EXPECT_EQ(counter.taken(), taken);
}

// Three crawlers with two threads each, which give some back: the limit is met exactly, and each
// crawler finds out that it is.
TEST(LimitPortions, NeverExceedTheLimitOverAllCrawlers) {
  constexpr std::uint64_t kLimit = 20'000;
  SharedCounter counter;
  std::vector<std::unique_ptr<Member>> members;
  for (int i = 0; i < 3; ++i)
    members.push_back(std::make_unique<Member>(counter, kLimit));
  std::atomic<std::uint64_t> fetched{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, &pages = members[static_cast<std::size_t>(i) / 2]->pages, i] {
      for (std::uint64_t round = 0; !pages.used_up(); ++round) {
        const std::uint64_t got = pages.take(1 + round % 9);
        const std::uint64_t back = (round + static_cast<std::uint64_t>(i)) % 4 == 0 ? got / 2 : 0;
        pages.give_back(back);
        for (std::uint64_t page = back; page < got; ++page)
          pages.finish_one();
        fetched += got - back;
        if (got == 0) std::this_thread::sleep_for(milliseconds(1));
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(fetched, kLimit);
  EXPECT_EQ(counter.taken(), kLimit);
  for (const auto& member : members) {
    EXPECT_EQ(member->pages.take(1), 0u);
    EXPECT_TRUE(member->portions.close().has_value());
  }
  EXPECT_EQ(counter.taken(), kLimit);
}

TEST(LimitPortions, WhatAnotherCrawlerGivesBackCanBeTaken) {
  SharedCounter counter;
  Member one(counter, 10);
  std::uint64_t taken = 0;
  wait_until([&] {
    taken += one.pages.take(1);
    return taken == 10;
  });
  Member other(counter, 10);
  wait_until([&] { return other.pages.used_up(); });
  EXPECT_EQ(other.pages.take(1), 0u);
  one.pages.give_back(4);
  EXPECT_TRUE(one.portions.close().has_value());
  EXPECT_EQ(counter.taken(), 6u);
  taken = 0;
  wait_until([&] {
    taken += other.fetch(1);
    return taken == 4;
  });
  wait_until([&] {
    EXPECT_EQ(other.pages.take(1), 0u);
    return other.pages.used_up();
  });
}

TEST(LimitPortions, ALimitThatIsReachedWhenACrawlerStartsIsNoticed) {
  SharedCounter counter;
  ASSERT_EQ(counter.source().take(100, 100).value(), 100u);
  Member member(counter, 100);
  wait_until([&] { return member.pages.used_up(); });
  EXPECT_GT(member.changes, 0);
}

TEST(LimitPortions, WithoutALimitTheUseIsCountedAndNeverWaits) {
  SharedCounter counter;
  Member member(counter, std::nullopt);
  EXPECT_EQ(member.pages.take(5000), 5000u);
  EXPECT_EQ(member.pages.take(12'345), 12'345u);
  member.pages.give_back(345);
  EXPECT_FALSE(member.pages.all_taken());
  EXPECT_FALSE(member.pages.used_up());
  EXPECT_FALSE(member.pages.limit());
  EXPECT_TRUE(member.portions.close().has_value());
  EXPECT_EQ(counter.taken(), 17'000u);
}

TEST(LimitPortions, ALimitMayComeLaterAndBeRaised) {
  SharedCounter counter;
  Member member(counter, std::nullopt);
  EXPECT_EQ(member.fetch(300), 300u);
  member.pages.set_limit(200);
  wait_until([&] { return member.pages.used_up(); });
  EXPECT_EQ(member.pages.take(1), 0u);
  member.pages.set_limit(310);
  std::uint64_t taken = 0;
  wait_until([&] {
    taken += member.fetch(3);
    return member.pages.used_up();
  });
  // 200 of the 300 were counted when the limit was 200.
  EXPECT_LE(taken, 110u);
  EXPECT_TRUE(member.portions.close().has_value());
  EXPECT_EQ(counter.taken(), 310u);
}

TEST(LimitPortions, AnEndTakesWhatOthersGaveBackAndThenNothing) {
  SharedCounter counter;
  Member member(counter, 100);
  const auto other = counter.source();
  ASSERT_TRUE(other.take(100, 40).has_value());
  wait_until([&] {
    member.fetch(1);
    return member.pages.used_up();
  });
  const auto used_up = [&] { return member.pages.used_up(); };
  ASSERT_TRUE(other.give_back(40).has_value());
  EXPECT_FALSE(member.portions.end_if(used_up));
  wait_until([&] {
    member.fetch(1);
    return member.pages.used_up();
  });
  EXPECT_EQ(counter.taken(), 100u);
  EXPECT_TRUE(member.portions.end_if(used_up));
  ASSERT_TRUE(other.give_back(40).has_value());
  const int calls = counter.calls();
  EXPECT_EQ(member.pages.take(1), 0u);
  std::this_thread::sleep_for(milliseconds(400));  // longer than between two questions
  EXPECT_TRUE(member.pages.used_up());
  EXPECT_EQ(counter.calls(), calls);
  EXPECT_TRUE(member.portions.close().has_value());
  EXPECT_EQ(counter.taken(), 60u);
}

// A thread that looks for leases takes pages, and gives back what it did not get.
TEST(LimitPortions, AreNotUsedUpWhileAThreadMayGiveThemBack) {
  SharedCounter counter;
  Member member(counter, 3);
  std::uint64_t fetched = 0;
  wait_until([&] { return (fetched += member.fetch(1)) == 2; });
  wait_until([&] { return member.pages.take(1) == 1; });
  wait_until([&] { return member.pages.take(1) == 0 && member.portions.used_up(); });
  std::atomic<bool> ends{false};
  member.pages.give_back(1);
  std::thread looks([&] {
    while (!ends) {
      const std::uint64_t n = member.pages.take(3);
      member.pages.give_back(n);
    }
  });
  for (int i = 0; i < 200'000; ++i)
    ASSERT_FALSE(member.pages.used_up());
  ends = true;
  looks.join();
  EXPECT_EQ(member.fetch(3), 1u);
  wait_until([&] { return member.pages.used_up(); });
}

TEST(LimitPortions, BytesAreCountedAfterwards) {
  SharedCounter counter;
  LimitPortions portions(counter.source(), 1'000'000, {.changed = [] {}, .failed = {}});
  CrawlLimits limits(1'000'000, {}, CrawlLimits::Clock::now());
  limits.share_bytes(portions);
  portions.start();
  std::uint64_t bytes = 0;
  wait_until([&] {
    if (limits.reached(CrawlLimits::Clock::now())) return true;
    EXPECT_FALSE(limits.add_bytes(7000));
    bytes += 7000;
    return false;
  });
  EXPECT_EQ(limits.reached(CrawlLimits::Clock::now()), CrawlLimit::kBytes);
  EXPECT_GE(bytes, 1'000'000u);
  EXPECT_EQ(limits.bytes(), bytes);
  EXPECT_TRUE(portions.close().has_value());
  EXPECT_EQ(counter.taken(), 1'000'000u);
}

TEST(LimitPortions, ASourceThatIsOutOfReachOrFullIsWaitedFor) {
  SharedCounter counter;
  for (const ErrorCode passing : {ErrorCode::kUnavailable, ErrorCode::kNoSpace}) {
    counter.fail_with(passing);
    Member member(counter, 1000);
    const int before = counter.calls();
    wait_until([&] {
      EXPECT_EQ(member.pages.take(1), 0u);
      return counter.calls() > before + 1;
    });
    EXPECT_FALSE(member.pages.used_up());
    EXPECT_EQ(member.failures, 0);
    counter.fail_with(std::nullopt);
    wait_until([&] { return member.pages.take(1) == 1; });
    EXPECT_TRUE(member.portions.close().has_value());
  }
  EXPECT_EQ(counter.taken(), 2u);
}

TEST(LimitPortions, AnotherFailureIsReportedOnce) {
  SharedCounter counter;
  counter.fail_with(ErrorCode::kCorrupt);
  Member member(counter, 1000);
  wait_until([&] { return member.failures > 0; });
  EXPECT_EQ(member.pages.take(1), 0u);
  EXPECT_FALSE(member.pages.used_up());
  EXPECT_EQ(member.failures, 1);
}

}  // namespace
}  // namespace trawl
