#include "crawler/decide/parked_patterns.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crawler/decide/trap_detector.h"
#include "crawler/decide/url_shape.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using Patterns = std::vector<std::string>;

class ParkedPatternsTest : public testing::Test {
 protected:
  const std::filesystem::path& state() const { return directory_.path(); }
  void write(const std::string& text) const {
    std::ofstream(ParkedPatterns::path(state()), std::ios::binary) << text;
  }
  // Parks patterns in a run, which ends.
  void park(bool resumed, std::uint32_t after, const Patterns& patterns) const {
    const auto parked = ParkedPatterns::open(state(), resumed, after);
    ASSERT_TRUE(parked) << parked.error().message;
    for (const std::string& pattern : patterns)
      ASSERT_TRUE((*parked)->add(pattern));
  }
  Patterns read(std::uint32_t after) const {
    const auto patterns = ParkedPatterns::read(state(), after);
    EXPECT_TRUE(patterns) << patterns.error().message;
    return patterns ? *patterns : Patterns();
  }

 private:
  test::TemporaryDirectory directory_;
};

TEST_F(ParkedPatternsTest, LaterRunsKnowThem) {
  EXPECT_EQ(read(5), Patterns());
  park(false, 5, {"h.test/0?a", "h.test/x"});
  EXPECT_EQ(read(5), (Patterns{"h.test/0?a", "h.test/x"}));
  park(true, 5, {"h.test/y"});
  EXPECT_EQ(read(5), (Patterns{"h.test/0?a", "h.test/x", "h.test/y"}));
}

TEST_F(ParkedPatternsTest, WithoutAnyThereIsNoFile) {
  park(false, 5, {});
  park(true, 5, {});
  EXPECT_FALSE(std::filesystem::exists(ParkedPatterns::path(state())));
  park(true, 5, {"h.test/x"});
  EXPECT_EQ(read(5), Patterns{"h.test/x"});
  park(false, 5, {});
  EXPECT_EQ(read(5), Patterns()) << "a new crawl";
}

TEST_F(ParkedPatternsTest, AnotherLimitOrANewCrawlBeginsAnew) {
  park(false, 5, {"h.test/x"});
  EXPECT_EQ(read(6), Patterns());
  park(true, 6, {"h.test/y"});
  EXPECT_EQ(read(6), Patterns{"h.test/y"});
  park(false, 6, {});
  EXPECT_EQ(read(6), Patterns());
}

TEST_F(ParkedPatternsTest, ALineThatACrashCutShortIsLeftOut) {
  write("park_pattern_after 5\nh.test/x\nh.te");
  EXPECT_EQ(read(5), Patterns{"h.test/x"});
  park(true, 5, {"h.test/y"});
  EXPECT_EQ(read(5), (Patterns{"h.test/x", "h.test/y"}));
  write("park_pattern_after 5");
  EXPECT_EQ(read(5), Patterns());
}

TEST_F(ParkedPatternsTest, AFileThatWasOnlyBegunHasNone) {
  for (const char* const begun : {"", "park_pattern", "park_pattern_after "}) {
    write(begun);
    EXPECT_EQ(read(5), Patterns()) << begun;
    park(true, 5, {"h.test/x"});
    EXPECT_EQ(read(5), Patterns{"h.test/x"});
  }
}

TEST_F(ParkedPatternsTest, AKillAtAnyMomentLosesNone) {
  const Patterns patterns = {"h.test/x", "h.test/y"};
  park(false, 5, patterns);
  for (int kill_after_us = 0; kill_after_us < 20'000; kill_after_us += 200) {
    const pid_t runs = ::fork();
    ASSERT_GE(runs, 0);
    if (runs == 0) {
      for (;;)
        (void)ParkedPatterns::open(state(), true, 5);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(kill_after_us));
    ::kill(runs, SIGKILL);
    ASSERT_EQ(::waitpid(runs, nullptr, 0), runs);
    ASSERT_EQ(read(5), patterns) << "killed after " << kill_after_us << " us";
  }
}

TEST_F(ParkedPatternsTest, AnotherFileIsRefusedByName) {
  write("my own notes\n");
  const auto refused = ParkedPatterns::open(state(), true, 5);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(refused.error().message.find(ParkedPatterns::path(state()).string()),
            std::string::npos);
}

TEST_F(ParkedPatternsTest, ADetectorParksThemAgain) {
  const Url url = *Url::parse("http://h.test/calendar/2031?day=1");
  CrawlConfig::Scope config;
  config.park_pattern_after = 100;
  TrapDetector traps(config);
  EXPECT_EQ(traps.state(url), PatternState::kOk);
  traps.park_again(url_pattern_of(url));
  EXPECT_EQ(traps.state(url), PatternState::kParked);
  EXPECT_EQ(traps.parked(), 0u) << "it was parked by an earlier run";
}

}  // namespace
}  // namespace trawl
