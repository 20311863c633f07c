#include "crawler/state/free_space_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trawl {
namespace {

using namespace std::chrono_literals;
using Step = FreeSpaceGuard::Step;

class FreeSpaceGuardTest : public testing::Test {
 protected:
  // After a second.
  Step next() { return guard_.check(now_ += 1s); }

  std::uint64_t state_ = 100;
  std::uint64_t output_ = 100;
  SteadyTime now_{1h};
  FreeSpaceGuard guard_{{"/state", "/output"}, 50, 3s, [this](const std::filesystem::path& path) {
                          return path == "/state" ? state_ : output_;
                        }};
};

TEST_F(FreeSpaceGuardTest, PausesAndGoesOn) {
  EXPECT_EQ(next(), Step::kNone);
  state_ = 50;
  EXPECT_EQ(next(), Step::kNone);
  state_ = 49;
  EXPECT_EQ(next(), Step::kPause);
  EXPECT_EQ(next(), Step::kNone);
  state_ = 60;
  EXPECT_EQ(next(), Step::kGoOn);
  EXPECT_EQ(next(), Step::kNone);
}

TEST_F(FreeSpaceGuardTest, EitherDiskCountsAndTheMessageNamesIt) {
  output_ = 10;
  EXPECT_EQ(next(), Step::kPause);
  EXPECT_THAT(guard_.what(), testing::HasSubstr("/output"));
}

TEST_F(FreeSpaceGuardTest, GivesUpAfterTheWaitAndCountsItAnewEachTime) {
  state_ = 0;
  EXPECT_EQ(next(), Step::kPause);
  EXPECT_EQ(next(), Step::kNone);
  state_ = 100;
  EXPECT_EQ(next(), Step::kGoOn);
  state_ = 0;
  EXPECT_EQ(next(), Step::kPause);
  EXPECT_EQ(next(), Step::kNone);
  EXPECT_EQ(next(), Step::kNone);
  EXPECT_EQ(next(), Step::kGiveUp);
}

TEST_F(FreeSpaceGuardTest, LooksOnlyFiveTimesASecond) {
  EXPECT_EQ(guard_.check(now_), Step::kNone);
  state_ = 0;
  EXPECT_EQ(guard_.check(now_ + 199ms), Step::kNone);
  EXPECT_EQ(guard_.check(now_ + 200ms), Step::kPause);
}

TEST_F(FreeSpaceGuardTest, WithoutALimitNothingHappens) {
  guard_.set(0, 0s);
  state_ = 0;
  EXPECT_EQ(next(), Step::kNone);
}

TEST_F(FreeSpaceGuardTest, ALimitThatIsLoweredLetsItGoOn) {
  state_ = 20;
  EXPECT_EQ(next(), Step::kPause);
  guard_.set(10, 3s);
  EXPECT_EQ(next(), Step::kGoOn);
}

TEST(FreeSpace, IsThatOfARealDisk) {
  EXPECT_TRUE(free_space_of("."));
  EXPECT_FALSE(free_space_of("./no-such-directory"));
}

}  // namespace
}  // namespace trawl
