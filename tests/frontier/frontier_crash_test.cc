// A real process works on a frontier from several threads and is killed with SIGKILL at moments
// that its own progress chooses; what is on disk afterwards is then held against the invariants.
#include <csignal>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trawl/frontier.h"

#include "tests/frontier/crash_web.h"
#include "tests/frontier/frontier_fixture.h"

namespace trawl {
namespace {

// What lies in the pipe, and what each thread (there are fewer than 16) has not written yet.
constexpr std::uint64_t kMaxAhead = test::kCrashPipeBytes / test::kCrashProgressBytes + 16;
static_assert(test::kCrashThreads < 16);

// N1 is held against `kills` kills at least: no run completes more than its share of the pages.
struct Plan {
  std::uint64_t kills;
  std::uint64_t most_pages_of_a_run;
  std::uint64_t pages() const { return (kills + 1) * (most_pages_of_a_run + kMaxAhead); }
};
constexpr Plan kNormal{.kills = 30, .most_pages_of_a_run = 60};
constexpr Plan kSlow{.kills = 1'000, .most_pages_of_a_run = 160};
constexpr std::uint64_t kRounds = 6;
constexpr Plan kRoundsPlan{.kills = kRounds, .most_pages_of_a_run = 500};

class FrontierCrash : public test::FrontierFixture {
 protected:
  std::string state() const { return directory_ / "state"; }
  std::string lease_log() const { return directory_ / "leases"; }

  // Runs the worker until it has completed `pages` pages, and kMaxAhead more at most, then kills
  // it. True if it ended first.
  bool run_and_kill(std::uint64_t pages, std::uint64_t of) const {
    int progress[2];
    if (::pipe2(progress, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    constexpr int kPipeBytes = static_cast<int>(test::kCrashPipeBytes);
    ::fcntl(progress[1], F_SETPIPE_SZ, kPipeBytes);
    if (::fcntl(progress[1], F_GETPIPE_SZ) > kPipeBytes) {
      throw std::runtime_error("the pipe is too large");
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, progress[1], STDOUT_FILENO);
    const std::string state_directory = state();
    const std::string log = lease_log();
    const std::string all = std::to_string(of);
    const char* arguments[] = {TRAWL_CRASH_WORKER, state_directory.c_str(), log.c_str(),
                               all.c_str(), nullptr};
    pid_t worker = 0;
    const int error = ::posix_spawn(&worker, TRAWL_CRASH_WORKER, &actions, nullptr,
                                    const_cast<char**>(arguments), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(progress[1]);
    if (error != 0) throw std::runtime_error("cannot start " TRAWL_CRASH_WORKER);
    // Each record is written as a whole, and so it is read.
    char record[test::kCrashProgressBytes];
    for (std::uint64_t n = 0; n < pages; ++n) {
      if (::read(progress[0], record, sizeof record) <= 0) break;
    }
    ::kill(worker, SIGKILL);
    int status = 0;
    ::waitpid(worker, &status, 0);
    ::close(progress[0]);
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
    }
    return WIFEXITED(status);
  }

  // How often each page was leased with so many failures before.
  std::map<std::pair<std::uint64_t, std::uint32_t>, int> times_leased() const {
    std::map<std::pair<std::uint64_t, std::uint32_t>, int> times;
    std::ifstream log(lease_log());
    std::uint64_t page = 0;
    std::uint32_t attempts = 0;
    // A line that a kill cut off is of a lease that was open, and is given again.
    for (std::string line; std::getline(log, line);) {
      if (std::istringstream(line) >> page >> attempts) ++times[{page, attempts}];
    }
    return times;
  }

  // The state as the kill left it; a copy, so that looking at it does not change it.
  std::unique_ptr<Frontier> open_copy(std::uint64_t pages) const {
    const auto copy = directory_.path() / "copy";
    std::filesystem::remove_all(copy);
    std::filesystem::copy(state(), copy, std::filesystem::copy_options::recursive);
    auto options = test::crash_options(copy, pages);
    options.limits.max_open_leases = static_cast<std::uint32_t>(2 * pages);
    return open(options);
  }

  // Everything that waits, retries included, which are queued while others are leased.
  static std::set<std::uint64_t> lease_all_pages(Frontier& frontier) {
    std::set<std::uint64_t> pages;
    for (FrontierStats stats = frontier.stats().value(); stats.queued + stats.deferred > 0;
         stats = frontier.stats().value()) {
      for (const Lease& lease : lease_all(frontier))
        EXPECT_TRUE(pages.insert(test::NumberedUrls::number(lease.url)).second) << lease.url;
      EXPECT_TRUE(frontier.flush());
    }
    return pages;
  }

  void kill_again_and_again(const Plan& plan) {
    const std::uint64_t seed = std::random_device{}();
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::uint64_t kills = 0;
    while (!run_and_kill(random() % plan.most_pages_of_a_run, plan.pages()))
      ++kills;
    EXPECT_GE(kills, plan.kills);
    const auto times = times_leased();
    std::uint64_t repeated = 0;
    for (const auto& [lease, n] : times) {
      ASSERT_LT(lease.first, plan.pages());
      repeated += static_cast<std::uint64_t>(n - 1);
    }
    EXPECT_LE(repeated, kills * test::kCrashOpenLeases);
    for (std::uint64_t page = 0; page < plan.pages(); ++page) {
      for (std::uint32_t attempt = 0; attempt <= test::crash_failures_of(page); ++attempt)
        EXPECT_TRUE(times.contains({page, attempt})) << page << " was lost";
    }
    const auto frontier = open_copy(plan.pages());
    EXPECT_TRUE(frontier->progress()->finished);
    EXPECT_EQ(frontier->stats()->admitted, plan.pages());
    EXPECT_EQ(frontier->stats()->completed, plan.pages());
  }

  test::NumberedUrls web_{test::kCrashHosts};
};

TEST_F(FrontierCrash, N1_NothingIsLostAndOnlyOpenLeasesAreRepeated) {
  kill_again_and_again(kNormal);
}

using FrontierCrashSlow = FrontierCrash;
TEST_F(FrontierCrashSlow, N1_NothingIsLostAndOnlyOpenLeasesAreRepeatedInAThousandKills) {
  kill_again_and_again(kSlow);
}

// After each kill: what is durable is a set of pages that some crawl could have left behind.
TEST_F(FrontierCrash, N2_N3_N4_WhatIsDurableIsConsistent) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const std::uint64_t pages = kRoundsPlan.pages();
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    ASSERT_FALSE(run_and_kill(1 + random() % (kRoundsPlan.most_pages_of_a_run - 1), pages));
    const auto frontier = open_copy(pages);
    const FrontierStats before = frontier->stats().value();
    const std::set<std::uint64_t> pending = lease_all_pages(*frontier);
    std::uint64_t admitted = 0;
    std::set<std::uint64_t> completed;
    std::set<std::uint64_t> unknown;
    for (std::uint64_t page = 0; page < pages; ++page) {
      const bool known = offer_one(*frontier, web_.url(page)) == Admission::kSeen;
      admitted += known ? 1 : 0;
      if (!known) unknown.insert(page);
      if (known && !pending.contains(page)) completed.insert(page);
    }
    // N2: the filter calls no URL seen that is not durably admitted.
    EXPECT_EQ(admitted, before.admitted);
    EXPECT_EQ(completed.size(), before.completed);
    // N3, N4: the links of a completed page are all admitted, by it or by another.
    std::set<std::uint64_t> linked = {0};
    for (const std::uint64_t page : completed) {
      for (const std::uint64_t link : test::crash_links_of(page, pages)) {
        EXPECT_FALSE(unknown.contains(link)) << page << " dropped " << link;
        linked.insert(link);
      }
      const std::uint64_t offered = test::crash_offer_of(page, pages);
      EXPECT_FALSE(unknown.contains(offered)) << page << " lost the offer of " << offered;
      linked.insert(offered);
    }
    for (const std::uint64_t page : pending)
      linked.insert(test::crash_offer_of(page, pages));
    // N3: no link is admitted without a page that brought it being completed, except for what was
    // offered.
    for (const std::uint64_t page : pending)
      EXPECT_TRUE(linked.contains(page)) << page;
    for (const std::uint64_t page : completed)
      EXPECT_TRUE(linked.contains(page)) << page;
  }
}

}  // namespace
}  // namespace trawl
