// The log: form, levels of rooms, rotation, and a file that is renamed meanwhile.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "crawler/log/log_style.h"
#include "crawler/log/room_log.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

class LogTest : public testing::Test {
 protected:
  ~LogTest() override { EXPECT_TRUE(apply_log_settings({})); }

  std::vector<std::string> lines(const fs::path& file) const {
    std::ifstream stream(file);
    std::vector<std::string> all;
    for (std::string line; std::getline(stream, line);)
      all.push_back(line);
    return all;
  }

  test::TemporaryDirectory directory_;
  const fs::path file_ = directory_.path() / "crawl.log";
  CrawlConfig::Log config_ = {.file = file_};
};

TEST_F(LogTest, EachRoomHasItsLevel) {
  config_.level = "warn";
  config_.levels = {{"http", "debug"}, {"links", "off"}};
  ASSERT_TRUE(apply_log_settings(config_));
  spdlog::info("no");
  spdlog::warn("one");
  room_log(LogRoom::kHttp).debug("two");
  room_log(LogRoom::kHttp).trace("no");
  room_log(LogRoom::kLinks).error("no");
  room_log(LogRoom::kFrontier).warn("three");
  EXPECT_THAT(lines(file_), ElementsAre(ContainsRegex("\\[crawl\\] \\[warn\\] one$"),
                                        ContainsRegex("\\[http\\] \\[debug\\] two$"),
                                        ContainsRegex("\\[frontier\\] \\[warn\\] three$")));
}

TEST_F(LogTest, LinesForPeopleHaveTimeAndZoneAndAreOneLineEach) {
  ASSERT_TRUE(apply_log_settings(config_));
  spdlog::warn("a\nb\x1b[31m");
  EXPECT_THAT(lines(file_),
              ElementsAre(MatchesRegex(
                  "\\[[0-9-]{10} [0-9:]{8}\\.[0-9]{3}[+-][0-9]{2}:[0-9]{2}\\] \\[crawl\\] "
                  "\\[warn\\] a\\\\nb\\\\u001b\\[31m")));
}

TEST_F(LogTest, JsonHasTheUrlOfAMessageAboutOne) {
  config_.format = LogFormat::kJson;
  ASSERT_TRUE(apply_log_settings(config_));
  room_log(LogRoom::kHttp).warn("https://a.example/x?y=\"1\": timed out\n\xff");
  spdlog::info("no URL: nothttp://a.example/");
  const auto all = lines(file_);
  ASSERT_EQ(all.size(), 2u);
  const auto first = nlohmann::json::parse(all[0]);
  EXPECT_EQ(first["url"], "https://a.example/x?y=\"1\"");
  EXPECT_EQ(first["level"], "warn");
  EXPECT_EQ(first["room"], "http");
  EXPECT_THAT(first["message"].get<std::string>(), HasSubstr("timed out"));
  EXPECT_THAT(first["time"].get<std::string>(), MatchesRegex("[0-9-]{10}T[0-9:.]{12}Z"));
  const auto second = nlohmann::json::parse(all[1]);
  room_log(LogRoom::kFrontier)
      .warn("a.example: host parked; last failure: http://a.example/: refused");
  EXPECT_EQ(nlohmann::json::parse(lines(file_).back())["url"], "http://a.example/");
  EXPECT_FALSE(second.contains("url"));
  EXPECT_EQ(second["level"], "info");
}

TEST_F(LogTest, AFullFileIsRenamedAndSoManyAreKept) {
  config_.max_size = 2000;
  config_.keep = 2;
  ASSERT_TRUE(apply_log_settings(config_));
  for (int i = 0; i < 200; ++i)
    spdlog::info("message number {}", i);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory_.path())) {
    names.push_back(entry.path().filename());
    EXPECT_LE(fs::file_size(entry.path()), 2000u);
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("crawl.log", "crawl.1.log", "crawl.2.log"));
  EXPECT_THAT(lines(file_).back(), HasSubstr("message number 199"));
}

TEST_F(LogTest, ARenamedFileIsLeftWhenTheSettingsAreAppliedAgain) {
  ASSERT_TRUE(apply_log_settings(config_));
  spdlog::info("before");
  fs::rename(file_, directory_.path() / "old.log");
  spdlog::info("still there");
  ASSERT_TRUE(apply_log_settings(config_));
  spdlog::info("after");
  EXPECT_EQ(lines(directory_.path() / "old.log").size(), 2u);
  EXPECT_THAT(lines(file_), ElementsAre(HasSubstr("after")));
}

TEST_F(LogTest, ABadFileLeavesTheLogAsItIs) {
  ASSERT_TRUE(apply_log_settings(config_));
  CrawlConfig::Log bad = {.level = "off", .file = file_ / "below" / "a-file"};
  const auto applied = apply_log_settings(bad);
  ASSERT_FALSE(applied);
  EXPECT_THAT(applied.error().message, HasSubstr("log.file"));
  spdlog::info("still written");
  EXPECT_EQ(lines(file_).size(), 1u);
}

TEST_F(LogTest, SettingsChangeWhileThreadsLog) {
  ASSERT_TRUE(apply_log_settings(config_));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int n = 0; n < 500; ++n)
        room_log(LogRoom::kHttp).info("line {}", n);
    });
  }
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(apply_log_settings(config_));
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(lines(file_).size(), 2000u);
}

std::string formatted(LogStyle style) {
  spdlog::details::log_msg message("http", spdlog::level::warn, "text");
  spdlog::memory_buf_t out;
  make_log_formatter(style)->format(message, out);
  return {out.data(), out.size()};
}

TEST(LogStyle, OnATerminalTimeLevelAndColour) {
  EXPECT_THAT(formatted(LogStyle::kDumb), MatchesRegex("[0-9:]{8} warn  \\[http\\] text\n"));
  EXPECT_THAT(formatted(LogStyle::kTerminal),
              MatchesRegex("\r\x1b\\[K[0-9:]{8} warn  \\[http\\] text\n"));
  EXPECT_THAT(formatted(LogStyle::kColour), HasSubstr("\x1b[33m\x1b[1mwarn \x1b[0m"));
}

TEST(LogStyle, FollowsTermAndNoColor) {
  ASSERT_EQ(setenv("TERM", "xterm", 1), 0);
  ASSERT_EQ(unsetenv("NO_COLOR"), 0);
  EXPECT_EQ(style_of_standard_error(true), LogStyle::kColour);
  EXPECT_EQ(style_of_standard_error(false), LogStyle::kFile);
  ASSERT_EQ(setenv("NO_COLOR", "1", 1), 0);
  EXPECT_EQ(style_of_standard_error(true), LogStyle::kTerminal);
  ASSERT_EQ(setenv("TERM", "dumb", 1), 0);
  EXPECT_EQ(style_of_standard_error(true), LogStyle::kDumb);
}

}  // namespace
}  // namespace trawl
