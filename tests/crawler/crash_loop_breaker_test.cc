#include "crawler/crash/crash_loop_breaker.h"

#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/crawler/child_process.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class CrashGuards : public ::testing::Test {
 protected:
  std::unique_ptr<CrashLoopBreaker> open() {
    auto guard = CrashLoopBreaker::open(directory_.path(), 8);
    EXPECT_TRUE(guard) << guard.error().message;
    return std::move(*guard);
  }
  // A process of its own that ends by `signal` with these in flight.
  void run(int signal, const std::vector<std::string>& urls) {
    test::ended_by([&] {
      const auto guard = open();
      std::vector<CrashLoopBreaker::Ticket> tickets;
      for (const std::string& url : urls)
        tickets.push_back(guard->begin(url));
      guard->begin("http://ended.test/");
      std::raise(signal);
    });
  }

  CrashVerdict verdict(CrashLoopBreaker& guard, const std::string& url) {
    return guard.verdict(url, url, leases_);
  }

  test::TemporaryDirectory directory_;
  std::atomic<std::uint64_t> leases_{1};
};

TEST_F(CrashGuards, ThreeCrashesSetAUrlAside) {
  run(SIGSEGV, {"http://a/", "http://bad/"});
  EXPECT_THAT(open()->suspects(), IsEmpty());
  run(SIGABRT, {"http://bad/", "http://c/"});
  {
    // Only opened for reading: the run is not closed, as after a kill.
    const auto guard = open();
    EXPECT_THAT(guard->suspects(), ElementsAre("http://bad/"));
    ASSERT_EQ(guard->warnings().size(), 2u);
    EXPECT_THAT(guard->warnings()[0], HasSubstr("SIGABRT"));
    EXPECT_THAT(guard->warnings()[0], HasSubstr("2 URLs"));
    EXPECT_THAT(guard->warnings()[1], HasSubstr("http://bad/"));
    EXPECT_EQ(verdict(*guard, "http://bad/"), CrashVerdict::kPutOff);
    EXPECT_EQ(verdict(*guard, "http://a/"), CrashVerdict::kFetch);
  }
  run(SIGBUS, {"http://bad/"});
  {
    const auto guard = open();
    EXPECT_THAT(guard->crashed(), ElementsAre("http://bad/"));
    EXPECT_THAT(guard->warnings(), ::testing::Contains(HasSubstr("http://bad/")));
    EXPECT_EQ(verdict(*guard, "http://bad/"), CrashVerdict::kSetAside);
    EXPECT_TRUE(guard->set_aside("http://bad/"));
    EXPECT_THAT(guard->were_set_aside(), ElementsAre("http://bad/"));
    EXPECT_EQ(verdict(*guard, "http://bad/"), CrashVerdict::kFetch);
  }
  EXPECT_THAT(open()->crashed(), IsEmpty());
}

TEST_F(CrashGuards, KillsNeverDo) {
  for (int i = 0; i < 100; ++i)
    run(SIGKILL, {"http://slow/"});
  const auto guard = open();
  EXPECT_THAT(guard->suspects(), IsEmpty());
  EXPECT_THAT(guard->crashed(), IsEmpty());
  EXPECT_THAT(guard->warnings(), IsEmpty());
}

TEST_F(CrashGuards, ARunThatEndsInOrderClearsTheRow) {
  run(SIGSEGV, {"http://a/"});
  ASSERT_TRUE(open()->close());
  run(SIGSEGV, {"http://a/"});
  EXPECT_THAT(open()->suspects(), IsEmpty());
  run(SIGSEGV, {"http://a/"});
  EXPECT_THAT(open()->suspects(), ElementsAre("http://a/"));
  {
    const auto guard = open();
    guard->begin("http://a/");  // and is well
    ASSERT_TRUE(guard->close());
  }
  EXPECT_THAT(open()->suspects(), IsEmpty());
}

TEST_F(CrashGuards, ATicketHoldsUntilItsLastCopyIsGone) {
  test::ended_by([&] {
    const auto guard = open();
    CrashLoopBreaker::Ticket ticket = guard->begin("http://a/");
    const CrashLoopBreaker::Ticket copy = ticket;
    ticket.reset();
    std::raise(SIGSEGV);
  });
  EXPECT_THAT(open()->warnings(), ElementsAre(HasSubstr("1 URL")));
}

TEST_F(CrashGuards, ATicketMayOutliveItsGuard) {
  auto guard = open();
  const CrashLoopBreaker::Ticket ticket = guard->begin("http://a/");
  guard.reset();
}

TEST_F(CrashGuards, SuspectsAreFetchedLastAndOneAtATime) {
  for (int i = 0; i < 2; ++i)
    run(SIGSEGV, {"http://s1/", "http://s2/"});
  const auto guard = open();
  for (const char* url : {"http://s1/", "http://s2/"}) {
    ASSERT_EQ(verdict(*guard, url), CrashVerdict::kPutOff);
    guard->put_off(url, url);
  }
  for (const char* url : {"http://s1/", "http://s2/"}) {
    const auto next = guard->next_put_off();
    EXPECT_TRUE(next.alone);
    EXPECT_THAT(next.leased, ElementsAre(url));
    EXPECT_FALSE(guard->is_alone());
    EXPECT_EQ(verdict(*guard, "http://other/"), CrashVerdict::kFetch) << "until it is begun";
    EXPECT_EQ(verdict(*guard, url), CrashVerdict::kFetch);
    EXPECT_TRUE(guard->is_alone());
    {
      const auto ticket = guard->begin(url);
      EXPECT_EQ(verdict(*guard, "http://other/"), CrashVerdict::kWait);
      EXPECT_EQ(verdict(*guard, url), CrashVerdict::kFetch) << "its redirect, or another try";
    }
    EXPECT_FALSE(guard->is_alone());
    EXPECT_EQ(verdict(*guard, "http://other/"), CrashVerdict::kFetch);
    EXPECT_EQ(verdict(*guard, url), CrashVerdict::kFetch) << "it is harmless";
  }
  EXPECT_THAT(guard->next_put_off().leased, IsEmpty());
}

TEST_F(CrashGuards, ASuspectWaitsForOtherLeases) {
  for (int i = 0; i < 2; ++i)
    run(SIGSEGV, {"http://s/"});
  const auto guard = open();
  guard->put_off("http://s/", "http://s/");
  ASSERT_TRUE(guard->next_put_off().alone);
  leases_ = 2;
  EXPECT_EQ(verdict(*guard, "http://s/"), CrashVerdict::kPutOff);
  EXPECT_FALSE(guard->is_alone());
}

// Its pages are put off until the file was fetched with one of them, and are then as any others.
TEST_F(CrashGuards, ARobotsTxtMayBeASuspect) {
  for (int i = 0; i < 2; ++i)
    run(SIGSEGV, {"http://s/robots.txt"});
  const auto guard = open();
  for (const char* url : {"http://s/1", "http://s/2", "http://s/3"}) {
    ASSERT_EQ(guard->verdict("http://s/robots.txt", url, leases_), CrashVerdict::kPutOff);
    guard->put_off(url, "http://s/robots.txt");
  }
  const auto first = guard->next_put_off();
  EXPECT_TRUE(first.alone);
  EXPECT_THAT(first.leased, ElementsAre("http://s/1"));
  EXPECT_EQ(guard->verdict("http://s/robots.txt", "http://s/1", leases_), CrashVerdict::kFetch);
  guard->begin("http://s/robots.txt");
  const auto rest = guard->next_put_off();
  EXPECT_FALSE(rest.alone);
  EXPECT_THAT(rest.leased, ElementsAre("http://s/2", "http://s/3"));
}

TEST_F(CrashGuards, DamagedFilesAreBegunAnew) {
  run(SIGSEGV, {"http://a/"});
  run(SIGSEGV, {"http://a/"});
  open();
  for (const auto& path : CrashLoopBreaker::paths(directory_.path())) {
    std::filesystem::resize_file(path, 10);
    const auto guard = open();
    EXPECT_THAT(guard->warnings(), ElementsAre(HasSubstr(path.filename().string())));
  }
  EXPECT_THAT(open()->suspects(), IsEmpty());
}

TEST_F(CrashGuards, OwnsTheFilesItNames) {
  open();
  run(SIGSEGV, {"http://a/"});
  open();
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path()))
    found.push_back(entry.path());
  const auto named = CrashLoopBreaker::paths(directory_.path());
  EXPECT_THAT(found, UnorderedElementsAre(named[0], named[1]));
}

}  // namespace
}  // namespace trawl
