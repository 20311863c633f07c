#include "frontier/recovery/checkpoint_schedule.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trawl {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Stands in for the frontier: counts checkpoints, and what they have.
class CheckpointScheduleTest : public ::testing::Test {
 protected:
  CheckpointPlan plan(milliseconds interval, std::uint64_t admissions) {
    return {.rule = {.max_replay = max_replay_,
                     .interval = interval,
                     .admissions = admissions,
                     .retry = retry_},
            .replayed_per_second = 1'000'000,
            .patience = patience_,
            .take = [this](const std::atomic<bool>& give_up) { return take(give_up); },
            .covered = [this] { return covered(); },
            .report = [this](const CheckpointEvent& event) { report(event); }};
  }
  void make(milliseconds interval, std::uint64_t admissions, std::uint64_t admitted = 0) {
    total_ = admitted;
    schedule_.emplace(plan(interval, admissions), admitted);
  }
  void admit(std::uint64_t total) {
    {
      const std::lock_guard lock(mutex_);
      total_ = total;
    }
    schedule_->admitted(total);
  }

  Result<void> take(const std::atomic<bool>& give_up) {
    Result<void> result;
    std::uint64_t total = 0;
    {
      const std::lock_guard lock(mutex_);
      total = total_;
      taken_.push_back(total);
      changed_.notify_all();
    }
    if (on_take_) result = on_take_(give_up);
    const std::lock_guard lock(mutex_);
    if (result) covered_ = total;
    return result;
  }
  std::uint64_t covered() {
    const std::lock_guard lock(mutex_);
    ++looks_;
    changed_.notify_all();
    return covered_;
  }
  void report(const CheckpointEvent& event) {
    const std::lock_guard lock(mutex_);
    reports_.push_back(!event.written ? "nothing new"
                       : event.result ? "ok"
                                      : event.result.error().message);
    EXPECT_GE(event.took.count(), 0);
    changed_.notify_all();
  }

  void wait_until(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, std::chrono::minutes(1), condition));
  }
  void wait_for_reports(std::size_t count) {
    wait_until([&] { return reports_.size() >= count; });
  }
  // Until the schedule looked twice more: once may have been under way.
  void wait_for_looks() {
    std::unique_lock lock(mutex_);
    const auto before = looks_;
    ASSERT_TRUE(
        changed_.wait_for(lock, std::chrono::minutes(1), [&] { return looks_ >= before + 2; }));
  }

  milliseconds max_replay_{30'000};
  milliseconds retry_{1};
  milliseconds patience_{std::chrono::minutes(1)};
  std::function<Result<void>(const std::atomic<bool>&)> on_take_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::uint64_t total_ = 0;
  std::uint64_t covered_ = 0;
  std::uint64_t looks_ = 0;
  std::vector<std::uint64_t> taken_;  // the total when each was begun
  std::vector<std::string> reports_;
  std::optional<CheckpointSchedule> schedule_;
};

TEST(CheckpointRule, ReplayDecides) {
  const CheckpointRule rule;
  CheckpointState now{.admitted = 104'999'999, .covered = 0, .replayed_per_second = 3.5e6};
  EXPECT_FALSE(rule.is_due(now));
  now.admitted = 105'000'000;
  EXPECT_TRUE(rule.is_due(now)) << "30 s at 3.5 million a second";
  now.since_newest = std::chrono::hours(1000);
  now.covered = 1;
  EXPECT_FALSE(rule.is_due(now)) << "no interval is set";
  now.replayed_per_second = 1e6;
  EXPECT_TRUE(rule.is_due(now)) << "a slower machine";
  now.since_failure = std::chrono::seconds(59);
  EXPECT_FALSE(rule.is_due(now));
  now.since_failure = std::chrono::seconds(60);
  EXPECT_TRUE(rule.is_due(now));
}

TEST(CheckpointRule, NoneIsDueIfNothingChanged) {
  const CheckpointRule rule{
      .max_replay = milliseconds(1), .interval = milliseconds(1), .admissions = 1};
  CheckpointState now{.admitted = 1'000'000,
                      .covered = 1'000'000,
                      .replayed_per_second = 1,
                      .since_newest = std::chrono::hours(1),
                      .requested = true};
  EXPECT_FALSE(rule.is_due(now));
  ++now.admitted;
  EXPECT_TRUE(rule.is_due(now));
}

TEST(CheckpointRule, ARequestNeedsNoOtherReason) {
  const CheckpointRule rule;
  CheckpointState now{.admitted = 2,
                      .covered = 1,
                      .replayed_per_second = 3.5e6,
                      .since_failure = std::chrono::seconds(0)};
  EXPECT_FALSE(rule.is_due(now));
  now.requested = true;
  EXPECT_TRUE(rule.is_due(now));
}

TEST(CheckpointRule, AnyNumbersArePossible) {
  const CheckpointRule slow{.max_replay = milliseconds(1)};
  EXPECT_EQ(slow.most_uncovered(1), 1u);
  const CheckpointRule long_one{.max_replay = kMaxDelay};
  EXPECT_EQ(long_one.most_uncovered(1e300), std::numeric_limits<std::uint64_t>::max());
  const CheckpointRule both{.admissions = 10};
  EXPECT_EQ(both.most_uncovered(3.5e6), 10u);
}

TEST_F(CheckpointScheduleTest, OneIsTakenWhenItsReplayWouldTakeTooLong) {
  max_replay_ = milliseconds(2);  // at a million a second
  make(milliseconds(0), 0, 100);
  admit(1'999);
  admit(2'000);
  wait_for_reports(1);
  admit(3'999);
  admit(4'000);
  wait_for_reports(2);
  schedule_->stop();
  EXPECT_THAT(taken_, ElementsAre(2'000, 4'000));
}

TEST_F(CheckpointScheduleTest, ARequestIsAnswered) {
  make(milliseconds(0), 0);
  admit(1'000'000);
  schedule_->request();
  wait_for_reports(1);
  schedule_->request();
  wait_for_reports(2);
  schedule_->stop();
  EXPECT_THAT(taken_, ElementsAre(1'000'000));
  EXPECT_THAT(reports_, ElementsAre("ok", "nothing new"));
}

TEST_F(CheckpointScheduleTest, OneIsTakenAfterSoManyAdmissions) {
  make(milliseconds(0), 100, 30);
  admit(99);
  admit(100);
  wait_for_reports(1);
  admit(199);
  admit(205);
  wait_for_reports(2);
  admit(304);
  admit(305);
  wait_for_reports(3);
  schedule_->stop();
  EXPECT_THAT(taken_, ElementsAre(100, 205, 305));
}

TEST_F(CheckpointScheduleTest, WhatWasAdmittedBeforeTheStartCounts) {
  make(milliseconds(0), 100, 250);
  wait_for_reports(1);
  schedule_->stop();
  EXPECT_THAT(taken_, ElementsAre(250));
}

TEST_F(CheckpointScheduleTest, OneThatSomebodyElseTookCounts) {
  make(milliseconds(0), 100);
  {
    const std::lock_guard lock(mutex_);
    covered_ = 90;
  }
  std::uint64_t looks = 0;
  {
    const std::lock_guard lock(mutex_);
    looks = looks_;
  }
  admit(150);  // beyond the limit that was set at first
  wait_until([&] { return looks_ > looks; });
  admit(189);
  admit(190);
  wait_for_reports(1);
  schedule_->stop();
  EXPECT_THAT(taken_, ElementsAre(190));
}

TEST_F(CheckpointScheduleTest, OneIsTakenAfterEachInterval) {
  make(milliseconds(1), 0);
  for (std::uint64_t n = 1; n <= 5; ++n) {
    admit(n);
    wait_until([&] { return covered_ == n; });
  }
  schedule_->stop();
  EXPECT_THAT(taken_, ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(CheckpointScheduleTest, AnIntervalWithoutAdmissionsNeedsNone) {
  covered_ = 5;
  make(milliseconds(1), 0, 5);
  for (int i = 0; i < 5; ++i)
    wait_for_looks();
  {
    const std::lock_guard lock(mutex_);
    EXPECT_THAT(taken_, IsEmpty());
  }
  admit(6);
  wait_for_reports(1);
  schedule_->stop();
  EXPECT_THAT(taken_, ElementsAre(6));
}

TEST_F(CheckpointScheduleTest, OneThatFailedIsReportedAndTriedAgainAfterAPause) {
  int attempts = 0;
  on_take_ = [&](const std::atomic<bool>&) -> Result<void> {
    if (++attempts < 3) return error(ErrorCode::kNoSpace, "the disk is full");
    return {};
  };
  make(milliseconds(1), 0, 7);
  wait_for_reports(3);
  wait_for_looks();
  schedule_->stop();
  EXPECT_THAT(reports_, ElementsAre("the disk is full", "the disk is full", "ok"));
}

TEST_F(CheckpointScheduleTest, OneThatFailedIsNotTriedAgainBefore) {
  on_take_ = [](const std::atomic<bool>&) -> Result<void> {
    return error(ErrorCode::kNoSpace, "the disk is full");
  };
  retry_ = std::chrono::hours(1);
  make(milliseconds(1), 100);
  admit(100);
  wait_for_reports(1);
  for (std::uint64_t n = 101; n < 1'000; ++n)
    admit(n);
  static_cast<void>(schedule_->close());  // not at the end either
  EXPECT_THAT(taken_, ElementsAre(100));
}

TEST_F(CheckpointScheduleTest, OneThatFailedIsTriedAgainOnRequest) {
  bool full = true;
  on_take_ = [&](const std::atomic<bool>&) -> Result<void> {
    if (std::exchange(full, false)) return error(ErrorCode::kNoSpace, "the disk is full");
    return {};
  };
  retry_ = std::chrono::hours(1);
  make(milliseconds(0), 100);
  admit(100);
  wait_for_reports(1);
  schedule_->request();
  wait_for_reports(2);
  EXPECT_THAT(reports_, ElementsAre("the disk is full", "ok"));
}

// Ends of a frontier.

TEST_F(CheckpointScheduleTest, ClosingTakesNoneThatIsNotDue) {
  make(std::chrono::hours(1), 100);
  admit(99);
  EXPECT_TRUE(schedule_->close());
  EXPECT_THAT(taken_, IsEmpty());
}

TEST_F(CheckpointScheduleTest, ClosingFinishesTheOneThatIsDue) {
  std::atomic<bool> begun{false};
  on_take_ = [&](const std::atomic<bool>& give_up) -> Result<void> {
    begun.store(true);
    begun.notify_all();
    EXPECT_FALSE(give_up.load());
    return {};
  };
  make(milliseconds(0), 100);
  admit(100);
  EXPECT_TRUE(schedule_->close());
  EXPECT_TRUE(begun.load());
  EXPECT_THAT(taken_, ElementsAre(100));
  EXPECT_THAT(reports_, ElementsAre("ok"));
  EXPECT_TRUE(schedule_->close()) << "again";
}

TEST_F(CheckpointScheduleTest, ClosingWaitsNotLongForOneThatNobodyRequested) {
  on_take_ = [](const std::atomic<bool>& give_up) -> Result<void> {
    while (!give_up.load())
      std::this_thread::yield();
    return error(ErrorCode::kClosed, "given up");
  };
  patience_ = milliseconds(1);
  make(milliseconds(0), 100);
  admit(100);
  wait_until([&] { return taken_.size() == 1; });
  admit(200);
  EXPECT_TRUE(schedule_->close());
  EXPECT_THAT(reports_, IsEmpty());
  EXPECT_EQ(taken_.size(), 1u) << "the log is replayed instead";
}

TEST_F(CheckpointScheduleTest, ClosingWaitsForOneThatWasRequested) {
  std::atomic<bool> go_on{false};
  on_take_ = [&](const std::atomic<bool>& give_up) -> Result<void> {
    go_on.wait(false);
    EXPECT_FALSE(give_up.load());
    return {};
  };
  patience_ = milliseconds(0);
  make(milliseconds(0), 0);
  admit(1);
  schedule_->request();
  wait_until([&] { return taken_.size() == 1; });
  admit(2);
  schedule_->request();  // during the first: one more
  std::thread closing([&] { EXPECT_TRUE(schedule_->close()); });
  go_on.store(true);
  go_on.notify_all();
  closing.join();
  EXPECT_THAT(taken_, ElementsAre(1, 2));
}

TEST_F(CheckpointScheduleTest, ClosingReturnsTheErrorOfOneThatFailsMeanwhile) {
  on_take_ = [](const std::atomic<bool>& give_up) -> Result<void> {
    while (!give_up.load())  // close() sets it
      std::this_thread::yield();
    return error(ErrorCode::kNoSpace, "the disk is full");
  };
  patience_ = milliseconds(0);
  make(milliseconds(0), 1);
  admit(1);
  wait_until([&] { return taken_.size() == 1; });
  const auto closed = schedule_->close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, ErrorCode::kNoSpace);
  EXPECT_THAT(reports_, ElementsAre("the disk is full"));
}

TEST_F(CheckpointScheduleTest, RequestsDuringOneAskForOneMore) {
  std::atomic<bool> go_on{false};
  on_take_ = [&](const std::atomic<bool>&) -> Result<void> {
    go_on.wait(false);
    return {};
  };
  make(milliseconds(0), 0);
  admit(1);
  schedule_->request();
  wait_until([&] { return taken_.size() == 1; });
  admit(2);
  for (int i = 0; i < 3; ++i)
    schedule_->request();
  go_on.store(true);
  go_on.notify_all();
  wait_for_reports(2);
  admit(3);
  schedule_->request();
  wait_for_reports(3);
  schedule_->stop();
  EXPECT_EQ(taken_.size(), 3u);
}

TEST_F(CheckpointScheduleTest, StoppingGivesUpTheOneUnderWay) {
  on_take_ = [&](const std::atomic<bool>& give_up) -> Result<void> {
    while (!give_up.load())
      std::this_thread::yield();
    return error(ErrorCode::kClosed, "given up");
  };
  make(milliseconds(0), 10);
  admit(10);
  wait_until([&] { return taken_.size() == 1; });
  schedule_->stop();
  EXPECT_THAT(reports_, IsEmpty());
  schedule_->request();
  admit(1'000);
  schedule_->stop();
  EXPECT_EQ(taken_.size(), 1u);
}

TEST_F(CheckpointScheduleTest, DestructionStopsIt) {
  make(std::chrono::hours(24 * 365 * 200), 10);
  schedule_.reset();
  make(milliseconds(0), 0);
  schedule_->request();
  schedule_.reset();
  EXPECT_LE(taken_.size(), 1u);
}

// No admission that makes one due goes unnoticed, however the threads meet.
TEST_F(CheckpointScheduleTest, NoLimitIsMissed) {
  for (int round = 0; round < 50; ++round) {
    SCOPED_TRACE(round);
    const std::uint64_t first = covered_;
    make(milliseconds(0), 7, first);
    std::thread other([&] {
      for (int i = 0; i < 5; ++i)
        schedule_->request();
    });
    for (std::uint64_t n = 1; n <= 700; ++n)
      admit(first + n);
    other.join();
    wait_until([&] { return covered_ + 7 > first + 700; });
    schedule_.reset();
  }
}

}  // namespace
}  // namespace trawl
