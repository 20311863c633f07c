// A real process works on a frontier from several threads and is killed with SIGKILL at moments
// that its own progress chooses; what is on disk afterwards is then held against the invariants.
#include <atomic>
#include <csignal>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trawl/frontier.h"

#include "filter/mix.h"
#include "tests/frontier/frontier_fixture.h"

namespace trawl {
namespace {

constexpr std::uint64_t kPages = 4'000;
constexpr std::size_t kThreads = 3;
constexpr std::size_t kLeasesAThread = 4;
constexpr std::uint32_t kMaxOpenLeases = 24;

// Page n links to its children in a binary tree, and to others that other pages link to as well,
// so that threads race for the same new URLs.
std::vector<std::uint64_t> links_of(std::uint64_t page) {
  std::vector<std::uint64_t> links;
  for (const std::uint64_t child : {2 * page + 1, 2 * page + 2}) {
    if (child < kPages) links.push_back(child);
  }
  const std::uint64_t near = page + 1 + mix64(page) % 40;
  for (std::uint64_t n = near; n < std::min(near + 6, kPages); ++n)
    links.push_back(n);
  return links;
}

class FrontierCrash : public test::FrontierFixture {
 protected:
  FrontierOptions crawl_options() const {
    auto crawl = options();
    crawl.shards = 2;
    crawl.max_open_leases = kMaxOpenLeases;
    crawl.expected_urls = kPages;
    return crawl;
  }
  std::string lease_log() const { return directory_ / "leases"; }

  // The child: crawls, writing the number of each page it leases to the log and a byte to
  // `progress` for each page it completes; ends with 0 when all is done.
  [[noreturn]] void crawl(int progress) const {
    const auto frontier = open(crawl_options());
    const int log = ::open(lease_log().c_str(), O_WRONLY | O_APPEND | O_CREAT, 0644);
    offer_one(*frontier, web_.url(0));
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] { crawl_pages(*frontier, log, progress, done); });
    }
    threads.emplace_back([&] {
      while (!done.load()) {
        if (!frontier->checkpoint()) ::_exit(3);
      }
    });
    for (auto& thread : threads)
      thread.join();
    ::_exit(0);
  }

  void crawl_pages(Frontier& frontier, int log, int progress, std::atomic<bool>& done) const {
    while (!done.load()) {
      const auto leases = frontier.lease(kLeasesAThread);
      if (!leases) ::_exit(4);
      if (leases->empty()) {
        if (!frontier.flush()) ::_exit(5);
        if (frontier.finished()) done.store(true);
        continue;
      }
      for (const Lease& lease : *leases) {
        const std::uint64_t page = test::NumberedUrls::number(lease.url);
        const std::string line = std::to_string(page) + "\n";
        if (::write(log, line.data(), line.size()) < 0) ::_exit(6);
        test::Requests requests;
        for (const std::uint64_t link : links_of(page))
          requests.add(web_.url(link));
        if (!frontier.complete(lease.id, {.status = 200}, requests.get())) ::_exit(7);
        if (::write(progress, "p", 1) < 0) ::_exit(8);
      }
    }
  }

  // Runs the child until it has completed `pages` pages, then kills it. True if it ended first.
  bool run_and_kill(std::uint64_t pages) const {
    int pipe[2];
    if (::pipe(pipe) != 0) throw std::runtime_error("no pipe");
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(pipe[0]);
      crawl(pipe[1]);
    }
    ::close(pipe[1]);
    char byte;
    for (std::uint64_t n = 0; n < pages && ::read(pipe[0], &byte, 1) == 1; ++n) {
    }
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(pipe[0]);
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
    }
    return WIFEXITED(status);
  }

  std::map<std::uint64_t, int> times_leased() const {
    std::map<std::uint64_t, int> times;
    std::ifstream log(lease_log());
    for (std::uint64_t page; log >> page;)
      ++times[page];
    return times;
  }

  test::NumberedUrls web_{20};
};

TEST_F(FrontierCrash, N1_NothingIsLostAndOnlyOpenLeasesAreRepeated) {
  std::random_device device;
  const std::uint64_t seed = device();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  int kills = 0;
  while (!run_and_kill(random() % (kPages / 8)))
    ++kills;
  EXPECT_GE(kills, 3);
  const auto times = times_leased();
  EXPECT_EQ(times.size(), kPages) << "every page was leased";
  std::uint64_t repeated = 0;
  for (const auto& [page, n] : times) {
    ASSERT_LT(page, kPages);
    repeated += static_cast<std::uint64_t>(n - 1);
  }
  EXPECT_LE(repeated, static_cast<std::uint64_t>(kills) * kMaxOpenLeases);
}

// After each kill: what is durable is a set of pages that some crawl could have left behind.
TEST_F(FrontierCrash, N2_N3_N4_WhatIsDurableIsConsistent) {
  std::random_device device;
  const std::uint64_t seed = device();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 6; ++round) {
    SCOPED_TRACE(round);
    if (run_and_kill(1 + random() % (kPages / 12))) break;
    // Work on a copy, so that looking at the state does not change it.
    const auto copy = directory_.path() / "copy";
    std::filesystem::remove_all(copy);
    std::filesystem::copy(crawl_options().directory, copy,
                          std::filesystem::copy_options::recursive);
    auto copied = crawl_options();
    copied.directory = copy;
    copied.max_open_leases = kPages;
    const auto frontier = open(copied);

    std::set<std::uint64_t> pending;
    for (const Lease& lease : lease_all(*frontier)) {
      EXPECT_TRUE(pending.insert(test::NumberedUrls::number(lease.url)).second);
    }
    const FrontierStats before = frontier->stats();
    std::set<std::uint64_t> completed;
    std::uint64_t admitted = 0;
    std::set<std::uint64_t> unknown;
    for (std::uint64_t page = 0; page < kPages; ++page) {
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
      for (const std::uint64_t link : links_of(page)) {
        EXPECT_FALSE(unknown.contains(link)) << page << " dropped " << link;
        linked.insert(link);
      }
    }
    // N3: no link is admitted without a page that brought it being completed.
    for (const std::uint64_t page : pending)
      EXPECT_TRUE(linked.contains(page)) << page;
    for (const std::uint64_t page : completed)
      EXPECT_TRUE(linked.contains(page)) << page;
  }
}

}  // namespace
}  // namespace trawl
