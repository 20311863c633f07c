#include "crawler/crash/crash_history.h"

#include <csignal>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trawl {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CrashHistories : public ::testing::Test {
 protected:
  void run(int signal, const std::vector<std::string>& urls, std::uint32_t unlisted = 0) {
    InFlightRecord record{.run = ++runs_, .signal = signal, .urls = {}, .unlisted = unlisted};
    for (const std::string& url : urls)
      record.urls.push_back(InFlightUrl::of(url));
    history_.add(record);
  }
  void crash(const std::vector<std::string>& urls) { run(SIGSEGV, urls); }
  void kill(const std::vector<std::string>& urls) { run(0, urls); }
  void end_in_order(const std::vector<std::string>& fetched = {}) {
    std::vector<InFlightUrl> urls;
    for (const std::string& url : fetched)
      urls.push_back(InFlightUrl::of(url));
    history_.end_in_order(urls);
  }
  static std::vector<std::string> texts(const std::vector<InFlightUrl>& urls) {
    std::vector<std::string> texts;
    for (const InFlightUrl& url : urls)
      texts.push_back(url.text);
    return texts;
  }
  std::vector<std::string> suspects() const { return texts(history_.suspects()); }
  std::vector<std::string> crashed() const { return texts(history_.crashed()); }
  bool suspected(const std::string& url) const { return history_.suspects(InFlightUrl::of(url)); }
  bool is_cause(const std::string& url) const { return history_.is_cause(InFlightUrl::of(url)); }

  CrashHistory history_;
  std::uint64_t runs_ = 0;
};

TEST_F(CrashHistories, OneCrashSuspectsNothing) {
  crash({"a", "b"});
  EXPECT_THAT(suspects(), IsEmpty());
  EXPECT_FALSE(suspected("a") || is_cause("a"));
}

TEST_F(CrashHistories, InFlightAtTwoCrashesInARow) {
  crash({"a", "b", "c"});
  crash({"d", "b", "e"});
  EXPECT_THAT(suspects(), ElementsAre("b"));
  EXPECT_TRUE(suspected("b"));
  EXPECT_FALSE(is_cause("b"));
  EXPECT_FALSE(suspected("a"));
}

TEST_F(CrashHistories, AloneAtAThirdCrash) {
  crash({"a", "b"});
  crash({"b", "c"});
  crash({"b"});
  EXPECT_THAT(suspects(), IsEmpty());
  EXPECT_THAT(crashed(), ElementsAre("b"));
  EXPECT_TRUE(is_cause("b"));
}

TEST_F(CrashHistories, AloneAtTheFirstTwoIsNotEnough) {
  crash({"a"});
  crash({"a"});
  EXPECT_THAT(suspects(), ElementsAre("a"));
  EXPECT_THAT(crashed(), IsEmpty());
  crash({"a"});
  EXPECT_THAT(crashed(), ElementsAre("a"));
}

TEST_F(CrashHistories, WithSomethingElseInFlightNothingIsSetAside) {
  crash({"a"});
  crash({"a"});
  crash({"a", "b"});
  EXPECT_THAT(crashed(), IsEmpty());
  run(SIGSEGV, {"a"}, 1);  // nor with something that has no name
  EXPECT_THAT(crashed(), IsEmpty());
  EXPECT_THAT(suspects(), ElementsAre("a"));
}

TEST_F(CrashHistories, KillsNeverSetAnythingAside) {
  for (int i = 0; i < 100; ++i)
    kill({"a"});
  EXPECT_TRUE(history_.empty());
  crash({"a"});
  for (int i = 0; i < 100; ++i)
    kill({"a"});
  EXPECT_THAT(suspects(), IsEmpty());
}

// A killed run says neither that the URL is harmless nor that it is not.
TEST_F(CrashHistories, CrashKillCrashIsTwoInARow) {
  crash({"a", "b"});
  kill({"c"});
  crash({"a", "d"});
  EXPECT_THAT(suspects(), ElementsAre("a"));
  kill({"a"});
  EXPECT_THAT(suspects(), ElementsAre("a"));
  EXPECT_THAT(crashed(), IsEmpty());
  crash({"a"});
  EXPECT_THAT(crashed(), ElementsAre("a"));
}

TEST_F(CrashHistories, AnEndInOrderEndsTheRow) {
  crash({"a"});
  end_in_order();
  crash({"a"});
  EXPECT_THAT(suspects(), IsEmpty());
  crash({"a"});
  EXPECT_THAT(suspects(), ElementsAre("a"));
  // It was not fetched yet: still to be looked at.
  end_in_order({"b"});
  EXPECT_THAT(suspects(), ElementsAre("a"));
  end_in_order({"a"});
  EXPECT_TRUE(history_.empty());
}

TEST_F(CrashHistories, ACrashWithNothingInFlightEndsTheRowOfUrls) {
  crash({"a"});
  crash({});
  crash({"a"});
  EXPECT_THAT(suspects(), IsEmpty());
}

TEST_F(CrashHistories, SeveralThatCrashAreSetAsideOneAfterTheOther) {
  // Both are met again and again, in turn, with others that change.
  int other = 0;
  std::vector<std::string> bad = {"bad1", "bad2", "bad3"};
  std::vector<std::string> aside;
  int crashes = 0;
  while (!bad.empty()) {
    // The run fetches all other URLs first, concurrently; then each suspect alone.
    std::vector<std::string> together;
    std::optional<std::string> alone;
    for (const std::string& url : bad) {
      if (!suspected(url)) {
        together.push_back(url);
      } else if (!alone) {
        alone = url;
      }
    }
    if (together.empty()) {
      crash({*alone});
    } else {
      together.push_back("other" + std::to_string(++other));
      crash(together);
    }
    ASSERT_LE(++crashes, 20);
    for (const std::string& url : crashed()) {
      EXPECT_TRUE(is_cause(url));
      history_.forget(InFlightUrl::of(url));
      aside.push_back(url);
      std::erase(bad, url);
    }
  }
  EXPECT_THAT(aside, ::testing::UnorderedElementsAre("bad1", "bad2", "bad3"));
  EXPECT_THAT(suspects(), IsEmpty());
}

TEST_F(CrashHistories, WhatIsForgottenBeginsAnew) {
  for (int i = 0; i < 3; ++i)
    crash({"a"});
  history_.forget(InFlightUrl::of("a"));
  EXPECT_FALSE(is_cause("a"));
  crash({"a"});
  crash({"a"});
  EXPECT_THAT(crashed(), IsEmpty());
  EXPECT_THAT(suspects(), ElementsAre("a"));
}

TEST_F(CrashHistories, ARunCountsOnce) {
  const InFlightRecord record{
      .run = 7, .signal = SIGBUS, .urls = {InFlightUrl::of("a")}, .unlisted = 0};
  EXPECT_TRUE(history_.add(record));
  EXPECT_FALSE(history_.add(record));
  EXPECT_THAT(suspects(), IsEmpty());
  EXPECT_EQ(history_.crashes_in_a_row(), 1u);
}

TEST_F(CrashHistories, KeptAndReadAgain) {
  crash({"a", "b"});
  crash({"a", "b"});
  crash({"a"});
  crash({"c", "d"});
  const auto read = CrashHistory::decode(history_.encode());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(texts(read->suspects()), suspects());
  EXPECT_EQ(texts(read->crashed()), crashed());
  EXPECT_EQ(read->encode(), history_.encode());
  history_ = *read;
  crash({"d", "e"});
  EXPECT_THAT(suspects(), ElementsAre("b", "d"));
}

TEST_F(CrashHistories, DamageIsNoticed) {
  crash({"a", "b"});
  crash({"a", "b"});
  const std::string whole = history_.encode();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_EQ(CrashHistory::decode(damaged).error().code, ErrorCode::kCorrupt) << i;
    EXPECT_EQ(CrashHistory::decode(whole.substr(0, i)).error().code, ErrorCode::kCorrupt) << i;
  }
}

}  // namespace
}  // namespace trawl
