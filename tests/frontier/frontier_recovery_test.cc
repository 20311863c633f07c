// Checkpoints, the admission log, and what becomes of damaged files.
#include <atomic>
#include <fstream>
#include <functional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trawl/embedded_frontier.h"

#include "tests/frontier/frontier_fixture.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FrontierRecovery : public test::FrontierFixture {
 protected:
  static constexpr std::uint64_t kUrls = 300;

  // Offers all of kUrls in three parts with a checkpoint after the first `checkpoints` of them.
  void make_state(int checkpoints) {
    const auto frontier = open();
    for (int part = 0; part < 3; ++part) {
      test::Requests requests;
      for (std::uint64_t n = 0; n < kUrls / 3; ++n) {
        requests.add(web_.url(static_cast<std::uint64_t>(part) * kUrls / 3 + n));
      }
      ASSERT_TRUE(frontier->offer(requests.get()));
      if (part < checkpoints) {
        ASSERT_TRUE(frontier->checkpoint());
      }
    }
  }

  std::vector<std::filesystem::path> checkpoint_files() const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(options().directory)) {
      if (entry.path().extension() == ".ckpt") files.push_back(entry.path());
    }
    std::ranges::sort(files);
    return files;
  }
  static void truncate(const std::filesystem::path& file) {
    std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  }

  // Every URL is known and queued, none twice.
  void expect_all_there(Frontier& frontier) {
    test::Requests requests;
    for (std::uint64_t n = 0; n < kUrls; ++n)
      requests.add(web_.url(n));
    for (const Admission admission : offer_all(frontier, requests)) {
      ASSERT_EQ(admission, Admission::kSeen);
    }
    EXPECT_EQ(lease_all(frontier).size(), kUrls);
  }

  test::NumberedUrls web_{7};
};

TEST_F(FrontierRecovery, WithoutACheckpointTheLogAloneRestores) {
  make_state(0);
  const auto frontier = open();
  EXPECT_TRUE(opened_.resumed);
  EXPECT_THAT(opened_.checkpoint, IsEmpty());
  EXPECT_EQ(opened_.replayed, kUrls);
  expect_all_there(*frontier);
}

TEST_F(FrontierRecovery, ACheckpointIsRestoredAndOnlyWhatCameLaterReplayed) {
  make_state(2);
  const auto frontier = open();
  EXPECT_THAT(opened_.checkpoint, HasSubstr("filter-000002.ckpt"));
  EXPECT_EQ(opened_.replayed, kUrls / 3);
  expect_all_there(*frontier);
}

TEST_F(FrontierRecovery, TwoCheckpointsAreKept) {
  make_state(3);
  const auto files = checkpoint_files();
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].filename(), "filter-000002.ckpt");
  EXPECT_EQ(files[1].filename(), "filter-000003.ckpt");
}

TEST_F(FrontierRecovery, ADamagedCheckpointFallsBackToTheOlderOne) {
  make_state(3);
  truncate(checkpoint_files().back());
  const auto frontier = open();
  EXPECT_THAT(opened_.checkpoint, HasSubstr("filter-000002.ckpt"));
  ASSERT_EQ(opened_.warnings.size(), 1u);
  EXPECT_THAT(opened_.warnings[0], HasSubstr("filter-000003.ckpt is damaged"));
  expect_all_there(*frontier);
}

TEST_F(FrontierRecovery, AMissingCheckpointFallsBackToTheOlderOne) {
  make_state(3);
  std::filesystem::remove(checkpoint_files().back());
  expect_all_there(*open());
}

TEST_F(FrontierRecovery, TheOnlyCheckpointDamagedFallsBackToTheWholeLog) {
  make_state(1);
  truncate(checkpoint_files().back());
  const auto frontier = open();
  EXPECT_EQ(opened_.replayed, kUrls);
  expect_all_there(*frontier);
}

TEST_F(FrontierRecovery, WithEveryCheckpointDamagedItSaysSoAndTouchesNothing) {
  make_state(3);
  for (const auto& file : checkpoint_files())
    truncate(file);
  const auto frontier = EmbeddedFrontier::open(options(), &opened_);
  ASSERT_FALSE(frontier);
  EXPECT_EQ(frontier.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(frontier.error().message, HasSubstr("filter-000002.ckpt is damaged"));
  EXPECT_THAT(frontier.error().message, HasSubstr("filter-000003.ckpt is damaged"));
  EXPECT_THAT(frontier.error().message,
              HasSubstr("`trawl frontier repair " + options().directory.string() + "`"));
  EXPECT_EQ(checkpoint_files().size(), 2u);
}

TEST_F(FrontierRecovery, AMissingManifestIsNotTakenForAnEmptyCrawl) {
  make_state(1);
  std::filesystem::remove(options().directory / "MANIFEST");
  const auto frontier = EmbeddedFrontier::open(options(), &opened_);
  ASSERT_FALSE(frontier);
  EXPECT_EQ(frontier.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(frontier.error().message, HasSubstr("MANIFEST"));
}

TEST_F(FrontierRecovery, AStoreWithoutAManifestCannotBeResumed) {
  make_state(1);
  std::filesystem::remove(options().directory / "MANIFEST");
  auto resume = options();
  resume.mode = OpenMode::kResume;
  const auto frontier = EmbeddedFrontier::open(resume, &opened_);
  ASSERT_FALSE(frontier);
  EXPECT_EQ(frontier.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(frontier.error().message, HasSubstr("no MANIFEST"));
}

// Without a ledger from the first URL on, URLs of before would look like false answers.
TEST_F(FrontierRecovery, ExactModeNeedsTheLedgerOfACrawlThatBeganWithOne) {
  make_state(1);
  auto exact = options();
  exact.seen.mode = FilterMode::kExact;
  const auto frontier = EmbeddedFrontier::open(exact, &opened_);
  ASSERT_FALSE(frontier);
  EXPECT_EQ(frontier.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(frontier.error().message, HasSubstr("was begun without a ledger"));
  expect_all_there(*open());
}

TEST_F(FrontierRecovery, ACrawlKeepsItsLedgerWhateverTheOptionsSay) {
  auto with_ledger = options();
  with_ledger.seen.ledger = true;
  { offer_one(*open(with_ledger), "http://a.test/1"); }
  { offer_one(*open(), "http://a.test/2"); }
  auto exact = options();
  exact.seen.mode = FilterMode::kExact;
  const auto frontier = open(exact);
  for (const char* url : {"http://a.test/1", "http://a.test/2"})
    EXPECT_EQ(offer_one(*frontier, url), Admission::kSeen);
  EXPECT_EQ(offer_one(*frontier, "http://a.test/3"), Admission::kNew);
}

TEST_F(FrontierRecovery, UnpublishedFilesOfACrashAreRemoved) {
  make_state(1);
  std::ofstream(options().directory / "filter-000009.ckpt.tmp") << "half";
  std::ofstream(options().directory / "filter-000009.ckpt") << "renamed, but never published";
  expect_all_there(*open());
  EXPECT_EQ(checkpoint_files().size(), 1u);
}

TEST_F(FrontierRecovery, CountersGoOnWhereTheyWere) {
  {
    const auto frontier = open();
    offer(*frontier, {"http://a.test/1", "http://a.test/2", "http://a.test/1"});
    complete(*frontier, lease_all(*frontier).at(0));
    ASSERT_TRUE(frontier->close());
  }
  const FrontierStats stats = open()->stats().value();
  EXPECT_EQ(stats.admitted, 2u);
  EXPECT_EQ(stats.completed, 1u);
  EXPECT_EQ(stats.seen, 1u);
  EXPECT_EQ(stats.queued, 1u);
}

// The limit and the failures of a host count what is durable: a call that has begun, and is not
// committed when the process dies, takes none of the host's allowance. The calling thread stands
// still at its last look at the clock, which is behind what it changes in memory.
TEST_F(FrontierRecovery, ACrashTakesNothingOfAHostsLimitAndCountsNoFailure) {
  static thread_local int calls = 0;
  static thread_local int stop_at = -1;
  std::atomic<bool> stands{false};
  std::atomic<bool> go_on{false};
  auto with_hook = options();
  with_hook.retry.retries = 0;
  with_hook.testing.wall_clock = [&] {
    if (++calls == stop_at) {
      stands.store(true);
      stands.notify_all();
      go_on.wait(false);
    }
    return std::chrono::system_clock::now();
  };
  const auto frontier = open(with_hook);
  std::vector<std::string> urls;
  for (int n = 0; n < 10; ++n)
    urls.push_back(fmt::format("http://a.test/{}", n));
  static_cast<void>(offer(*frontier, urls));
  ASSERT_TRUE(frontier->set_host("a.test", {.limit = 8}));
  const auto leases = lease_all(*frontier);
  ASSERT_EQ(leases.size(), 8u);
  std::uint64_t copies = 0;
  const auto expect_after_crash = [&](std::uint64_t remaining, std::uint32_t failures) {
    const auto copy = directory_.path() / fmt::format("copy{}", ++copies);
    std::filesystem::copy(options().directory, copy, std::filesystem::copy_options::recursive);
    auto of_copy = options();
    of_copy.directory = copy;
    const auto info = open(of_copy)->host("a.test").value();
    EXPECT_EQ(info.settings.limit, remaining);
    EXPECT_EQ(info.failures, failures);
    EXPECT_EQ(info.queued, 10 - (8 - remaining));
  };
  const auto end = [&](const Lease& lease, bool fails) {
    if (!fails) return frontier->complete(lease.id, {.status = 404}, {}).has_value();
    return frontier->fail(lease.id, FailureReason::kConnection).has_value();
  };
  std::uint64_t remaining = 8;
  std::uint32_t failures = 0;
  std::size_t next = 0;
  for (const bool fails : {false, true}) {
    calls = 0;
    ASSERT_TRUE(end(leases[next++], fails));
    const int looks = calls;
    ASSERT_GT(looks, 0);
    stands.store(false);
    go_on.store(false);
    std::thread slow([&, lease = leases[next++]] {
      stop_at = looks;
      EXPECT_TRUE(end(lease, fails));
    });
    stands.wait(false);
    ASSERT_TRUE(end(leases[next++], fails));
    ASSERT_TRUE(frontier->flush());
    remaining -= 2;
    failures += fails ? 2 : 0;
    expect_after_crash(remaining, failures);
    go_on.store(true);
    go_on.notify_all();
    slow.join();
    ASSERT_TRUE(frontier->flush());
    --remaining;
    failures += fails ? 1 : 0;
    expect_after_crash(remaining, failures);
  }
}

TEST_F(FrontierRecovery, ALeaseOfBeforeIsLeasedAgainAfterARestart) {
  std::string url;
  {
    const auto frontier = open();
    offer_one(*frontier, "http://a.test/");
    url = lease_all(*frontier).at(0).url;
  }
  EXPECT_EQ(lease_all(*open()).at(0).url, url);
}

// Two checkpoints that end up in the manifest while offers go on: whatever file is used, and
// whatever had been offered when it was made, each URL is known exactly once afterwards.
TEST_F(FrontierRecovery, A2_CheckpointsTakenDuringAdmissionsForgetNone) {
  constexpr int kThreads = 3;
  constexpr std::uint64_t kEach = 2'000;
  {
    const auto frontier = open();
    std::atomic<int> running{kThreads};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (std::uint64_t n = 0; n < kEach; n += 20) {
          test::Requests requests;
          for (std::uint64_t i = 0; i < 20; ++i) {
            requests.add(web_.url(static_cast<std::uint64_t>(t) * kEach + n + i));
          }
          ASSERT_TRUE(frontier->offer(requests.get()));
        }
        running.fetch_sub(1);
      });
    }
    while (running.load() > 0)
      ASSERT_TRUE(frontier->checkpoint());
    for (auto& thread : threads)
      thread.join();
  }
  truncate(checkpoint_files().back());
  const auto frontier = open();
  test::Requests requests;
  for (std::uint64_t n = 0; n < kThreads * kEach; ++n)
    requests.add(web_.url(n));
  for (const Admission admission : offer_all(*frontier, requests)) {
    ASSERT_EQ(admission, Admission::kSeen);
  }
  EXPECT_EQ(lease_all(*frontier).size(), kThreads * kEach);
}

bool wait_until(const std::function<bool()>& condition, milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(milliseconds(1));
  return condition();
}

// The link's bits are in the filter, and in the file, when its admission fails.
TEST_F(FrontierRecovery, N2_ACheckpointWithBitsOfAFailedCommitIsNotPublished) {
  auto frontier_options = options();
  const auto file = options().directory / "filter-000001.ckpt";
  std::atomic<bool> armed{false};
  std::atomic<bool> committing{false};
  frontier_options.testing.before_commit = [&]() -> Result<void> {
    if (!armed.load()) return {};
    committing.store(true);
    std::error_code ignored;
    const bool copied = wait_until(
        [&] {
          const auto size = std::filesystem::file_size(file.string() + ".tmp", ignored);
          return !ignored && size > 0;
        },
        std::chrono::minutes(1));
    EXPECT_TRUE(copied);
    // Time for a checkpoint that does not wait for this commit to show itself.
    EXPECT_FALSE(wait_until([&] { return std::filesystem::exists(file); }, milliseconds(200)));
    return error(ErrorCode::kNoSpace, "pages.jsonl: no space left");
  };
  {
    const auto frontier = open(frontier_options);
    offer_one(*frontier, "http://a.test/");
    armed.store(true);
    complete(*frontier, lease_all(*frontier).at(0), {"http://a.test/link"});
    while (!committing.load())
      std::this_thread::yield();
    const auto taken = frontier->checkpoint();
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, ErrorCode::kNoSpace);
    EXPECT_THAT(checkpoint_files(), IsEmpty());
  }
  const auto frontier = open();
  EXPECT_EQ(offer_one(*frontier, "http://a.test/link"), Admission::kNew);
  EXPECT_EQ(offer_one(*frontier, "http://a.test/"), Admission::kSeen);
  EXPECT_EQ(lease_all(*frontier).size(), 2u);
}

TEST_F(FrontierRecovery, ClosingDuringCheckpointsAndCompletionsLosesNothingThatWasAnswered) {
  const auto end = std::chrono::steady_clock::now() + milliseconds(2000);
  for (int round = 0; round < 40 && std::chrono::steady_clock::now() < end; ++round) {
    SCOPED_TRACE(round);
    auto frontier_options = options();
    frontier_options.directory = directory_.path() / std::to_string(round);
    // A slow committer: much is under way when the frontier is closed.
    frontier_options.testing.before_commit = []() -> Result<void> {
      for (int i = 0; i < 20; ++i)
        std::this_thread::yield();
      return {};
    };
    const auto frontier = open(frontier_options);
    test::Requests requests;
    for (std::uint64_t n = 0; n < kUrls; ++n)
      requests.add(web_.url(n));
    offer_all(*frontier, requests);
    std::atomic<std::uint64_t> completed{0};  // with one new link each
    std::atomic<int> checkpoints{0};
    const auto complete_some = [&](std::uint64_t first) {
      for (std::uint64_t n = first;; n += 2) {
        const auto leases = frontier->lease({.max = 1});
        if (!leases) return leases.error().code;
        if (leases->empty()) {  // the links are not durable yet
          std::this_thread::yield();
          continue;
        }
        const test::Requests link({web_.url(kUrls + n)});
        const auto done = frontier->complete(leases->front().id, {.status = 200}, link.get());
        if (!done) return done.error().code;
        completed.fetch_add(1);
      }
    };
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] { EXPECT_EQ(complete_some(t), ErrorCode::kClosed); });
      threads.emplace_back([&] {
        auto taken = frontier->checkpoint();
        for (; taken; taken = frontier->checkpoint())
          checkpoints.fetch_add(1);
        EXPECT_EQ(taken.error().code, ErrorCode::kClosed);
      });
    }
    while (completed.load() < static_cast<std::uint64_t>(5 * (round % 8)))
      std::this_thread::yield();
    EXPECT_TRUE(frontier->close());
    for (auto& thread : threads)
      thread.join();
    // None is written if nothing is new.
    EXPECT_LE(frontier->stats()->checkpoints, static_cast<std::uint64_t>(checkpoints.load()));
    frontier_options.testing.before_commit = {};
    const auto reopened = open(frontier_options);
    EXPECT_EQ(opened_.warnings.size(), 0u);
    EXPECT_EQ(reopened->stats()->completed, completed.load());
    EXPECT_EQ(reopened->stats()->admitted, kUrls + completed.load());
    EXPECT_EQ(lease_all(*reopened).size(), kUrls);
  }
}

}  // namespace
}  // namespace trawl
