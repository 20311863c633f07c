// trawl frontier retry: which of the URLs set aside are queued again, held ones included.
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trawl/embedded_frontier.h"
#include "trawl/frontier_dump.h"

#include "crawler/cli/exit_codes.h"
#include "crawler/cli/frontier_commands.h"
#include "tests/support/temporary_directory.h"

namespace trawl::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// A state with two URLs that failed, one that is held, and a link that was held.
class FrontierRetry : public testing::Test {
 protected:
  FrontierRetry() {
    auto frontier = open();
    const std::vector<UrlRequest> requests{{.url = "http://a.example/404"},
                                           {.url = "http://a.example/503"},
                                           {.url = "http://b.example/held"},
                                           {.url = "http://b.example/page"}};
    EXPECT_TRUE(frontier->offer(requests));
    const UrlRequest link{.url = "http://c.example/link", .hold = HoldReason{.reason = "too deep"}};
    const auto leases = frontier->lease({.max = 100}).value();
    EXPECT_EQ(leases.size(), 4u);
    for (const Lease& lease : leases) {
      if (lease.url.ends_with("404")) {
        EXPECT_TRUE(frontier->complete(lease.id, {.status = 404}, {}));
      } else if (lease.url.ends_with("503")) {
        EXPECT_TRUE(frontier->complete(lease.id, {.status = 503}, {}));
      } else if (lease.url.ends_with("held")) {
        EXPECT_TRUE(frontier->hold(lease.id, {.reason = "robots.txt"}));
      } else {
        EXPECT_TRUE(frontier->complete(lease.id, {.status = 200}, {&link, 1}));
      }
    }
    EXPECT_TRUE(frontier->close());
  }

  std::unique_ptr<Frontier> open() const {
    return EmbeddedFrontier::open(
               {.directory = directory(),
                .politeness = {.delay = std::chrono::milliseconds(0), .leases_per_host = 10},
                .seen = {.expected_urls = 1000}})
        .value();
  }
  std::filesystem::path directory() const { return directory_.path() / "state"; }

  // What it prints.
  std::string retry(FrontierRetryArguments arguments) const {
    arguments.program = "trawl";
    arguments.state_dir = directory().string();
    testing::internal::CaptureStdout();
    EXPECT_EQ(run_frontier_retry(arguments), kDone);
    return testing::internal::GetCapturedStdout();
  }
  std::set<std::string> queued() const {
    std::set<std::string> urls;
    EXPECT_TRUE(dump_frontier(directory(), {.state = WaitingState::kQueued},
                              [&](const DumpedUrl& url) -> Result<void> {
                                urls.emplace(url.url);
                                return {};
                              }));
    return urls;
  }

  test::TemporaryDirectory directory_;
};

TEST_F(FrontierRetry, QueuesThoseThatFailedUnlessAskedForOthers) {
  EXPECT_THAT(retry({}), HasSubstr("2 URLs queued again; still set aside: 0 failed and 2 held\n"));
  EXPECT_THAT(queued(), UnorderedElementsAre("http://a.example/404", "http://a.example/503"));
}

TEST_F(FrontierRetry, QueuesThoseThatAreHeld) {
  EXPECT_THAT(retry({.state = SetAsideState::kHeld}),
              HasSubstr("2 URLs queued again; still set aside: 2 failed and 0 held\n"));
  EXPECT_THAT(queued(), UnorderedElementsAre("http://b.example/held", "http://c.example/link"));
}

TEST_F(FrontierRetry, QueuesAll) {
  EXPECT_THAT(retry({.state = std::nullopt}),
              HasSubstr("4 URLs queued again; still set aside: 0 failed and 0 held\n"));
  EXPECT_EQ(queued().size(), 4u);
  EXPECT_THAT(retry({.state = std::nullopt}), HasSubstr("nothing to retry"));
}

TEST_F(FrontierRetry, ChoosesByReasonHostAndStatus) {
  EXPECT_THAT(retry({.state = SetAsideState::kHeld, .statuses = {{400, 599}}}),
              HasSubstr("nothing to retry: none of the URLs set aside"));
  EXPECT_THAT(queued(), IsEmpty());
  EXPECT_THAT(retry({.state = SetAsideState::kHeld, .reason = "too deep"}),
              HasSubstr("1 URL queued again"));
  EXPECT_THAT(queued(), UnorderedElementsAre("http://c.example/link"));
  EXPECT_THAT(retry({.state = std::nullopt, .host = "b.example"}), HasSubstr("1 URL queued again"));
  EXPECT_THAT(retry({.statuses = {{403, 403}, {404, 404}}}), HasSubstr("1 URL queued again"));
  EXPECT_THAT(queued(), UnorderedElementsAre("http://c.example/link", "http://b.example/held",
                                             "http://a.example/404"));
}

TEST_F(FrontierRetry, WhatIsQueuedIsLeased) {
  retry({.state = std::nullopt});
  EXPECT_EQ(open()->lease({.max = 100})->size(), 4u);
}

}  // namespace
}  // namespace trawl::cli
