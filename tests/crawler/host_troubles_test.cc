// A host that begins to fail is one line, however often and however many fail.
#include "crawler/run/host_troubles.h"

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trawl::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class HostTroublesTest : public testing::Test {
 protected:
  void fail(const std::string& host, bool parked = false) {
    const SystemTime until = std::chrono::system_clock::now() + 10s;
    troubles_.failed(host, "connection refused", "http://x/: refused",
                     parked ? std::nullopt : std::optional(until), parked);
  }

  std::vector<std::string> lines_;
  HostTroubles troubles_{[this](const std::string& line) { lines_.push_back(line); }};
};

TEST_F(HostTroublesTest, LogsWhenAHostBeginsToFailAndWhenItIsParked) {
  for (int i = 0; i < 5; ++i)
    fail("a.example");
  EXPECT_THAT(lines_, ElementsAre(AllOf(HasSubstr("a.example: fails: "), HasSubstr("refused"),
                                        HasSubstr("next try at "))));
  fail("a.example", true);
  fail("a.example", true);
  ASSERT_THAT(lines_, SizeIs(2));
  EXPECT_THAT(lines_[1], AllOf(HasSubstr("a.example: host parked for the rest of this run"),
                               HasSubstr("6 failures in a row")));
  const auto first = troubles_.first(10);
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].failures, 7u);
  EXPECT_TRUE(first[0].parked);
}

TEST_F(HostTroublesTest, ForgetsAHostThatAnswers) {
  fail("a.example");
  fail("b.example");
  fail("b.example");
  troubles_.answered("a.example");
  troubles_.answered("b.example");
  troubles_.answered("c.example");
  EXPECT_EQ(troubles_.count(), 0u);
  EXPECT_THAT(troubles_.first(10), IsEmpty());
  // One failure is not worth a second line.
  ASSERT_THAT(lines_, SizeIs(3));
  EXPECT_THAT(lines_[2], HasSubstr("b.example: answers again, after 2 failures in a row"));
}

TEST_F(HostTroublesTest, IsQuietAboutAHostThatFailsNowAndThen) {
  for (int i = 0; i < 100; ++i) {
    fail("a.example");
    troubles_.answered("a.example");
  }
  EXPECT_THAT(lines_, SizeIs(1));
}

TEST_F(HostTroublesTest, LogsAFewLinesAMinute) {
  for (int i = 0; i < 1000; ++i)
    fail(fmt::format("{}.example", i));
  EXPECT_THAT(lines_, SizeIs(HostTroubles::kLinesAMinute));
  EXPECT_EQ(troubles_.count(), 1000u);
  EXPECT_THAT(troubles_.first(3), SizeIs(3));
}

TEST_F(HostTroublesTest, KnowsABoundedNumberOfHosts) {
  for (std::size_t i = 0; i < 2 * HostTroubles::kMostHosts; ++i)
    fail(fmt::format("{}.example", i));
  EXPECT_EQ(troubles_.count(), HostTroubles::kMostHosts);
}

TEST_F(HostTroublesTest, PutsTheHostThatIsTriedFirstFirst) {
  const SystemTime now = std::chrono::system_clock::now();
  troubles_.failed("late.example", "timeout", "", now + 60s, false);
  troubles_.failed("never.example", "timeout", "", std::nullopt, true);
  troubles_.failed("soon.example", "timeout", "", now + 5s, false);
  std::vector<std::string> hosts;
  for (const HostTrouble& trouble : troubles_.first(10))
    hosts.push_back(trouble.host);
  EXPECT_THAT(hosts, ElementsAre("soon.example", "late.example", "never.example"));
}

TEST(HostTroublesThreadsTest, CountsWhatManyThreadsNote) {
  HostTroubles troubles([](const std::string&) {});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&troubles, t] {
      for (int i = 0; i < 1000; ++i) {
        const std::string host = fmt::format("{}.example", i % 50);
        if (t % 2 == 0)
          troubles.failed(host, "timeout", "", std::nullopt, false);
        else
          troubles.answered(host);
        troubles.log_left_out();
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(troubles.first(1000).size(), troubles.count());
}

}  // namespace
}  // namespace trawl::test
