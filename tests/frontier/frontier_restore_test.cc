// A frontier that is in use before all of its hosts are restored.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "tests/frontier/frontier_fixture.h"
#include "tests/support/sanitized.h"

namespace trawl::test {
namespace {

using std::chrono::milliseconds;

std::string host_of(std::uint64_t host) {
  return fmt::format("host{}.test", host);
}
std::string url_of(std::uint64_t host, std::uint64_t n) {
  return fmt::format("http://{}/{}", host_of(host), n);
}

class FrontierRestoreTest : public FrontierFixture {
 protected:
#ifdef TRAWL_SANITIZED
  static constexpr std::uint64_t kHosts = 6'000;
#else
  static constexpr std::uint64_t kHosts = 20'000;
#endif

  // open() does not wait for the hosts.
  EmbeddedOptions impatient(std::size_t most_awake) const {
    EmbeddedOptions options = FrontierFixture::options();
    options.politeness.delay = milliseconds(0);
    options.politeness.leases_per_host = 2;
    options.store.shards = 2;
    options.seen.expected_urls = 1'000'000;
    options.testing.clock = nullptr;
    options.testing.wall_clock = nullptr;
    options.testing.restore_patience = milliseconds(0);
    options.testing.most_hosts_awake = most_awake;
    return options;
  }
  // Queues `urls` URLs of each host, from number `first` on; returns how many are new.
  static std::uint64_t offer(Frontier& frontier, std::uint64_t hosts, std::uint64_t first,
                             std::uint64_t urls) {
    std::uint64_t fresh = 0;
    std::vector<std::string> texts;
    std::vector<UrlRequest> requests;
    const auto flush = [&] {
      for (const std::string& text : texts)
        requests.push_back({.url = text});
      const auto answers = frontier.offer(requests);
      EXPECT_TRUE(answers);
      if (answers)
        fresh += static_cast<std::uint64_t>(std::ranges::count(*answers, Admission::kNew));
      texts.clear();
      requests.clear();
    };
    for (std::uint64_t host = 0; host < hosts; ++host) {
      for (std::uint64_t n = first; n < first + urls; ++n)
        texts.push_back(url_of(host, n));
      if (texts.size() >= 1000) flush();
    }
    flush();
    return fresh;
  }

  // Opens a frontier with URLs of all hosts, and at once offers more, drops and changes hosts,
  // while two threads lease. Each URL must be leased once, and the counts be right at the end.
  void use_at_once(std::size_t most_awake) {
    const EmbeddedOptions options = impatient(most_awake);
    std::uint64_t queued = 0;
    {
      const auto before = open(options);
      queued += offer(*before, kHosts, 0, 2);
      queued += offer(*before, kHosts / 20, 2, 20);  // longer than the beginning that is restored
      ASSERT_TRUE(before->close());
    }
    const auto frontier = open(options);
    std::mutex mutex;
    std::set<std::string> leased;
    std::atomic<bool> offered{false};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 2; ++thread) {
      threads.emplace_back([&] {
        for (;;) {
          const bool all_offered = offered;
          const auto leases = frontier->lease({.max = 32, .wait = milliseconds(20)});
          ASSERT_TRUE(leases) << leases.error().message;
          if (leases->empty() && all_offered && frontier->progress()->exhausted) return;
          for (const Lease& lease : *leases) {
            {
              const std::lock_guard lock(mutex);
              EXPECT_TRUE(leased.insert(std::string(lease.url)).second) << lease.url;
            }
            EXPECT_TRUE(frontier->complete(lease.id, {.status = 200}, {}));
          }
        }
      });
    }
    std::uint64_t dropped = 0;
    std::mt19937 random(5);
    for (int n = 0; n < 50; ++n) {
      // The last hosts in the order of hosts are restored last; which those are, hashes decide.
      const std::string host = host_of(random() % kHosts);
      const auto gone = frontier->drop_host(host);
      ASSERT_TRUE(gone);
      dropped += *gone;
      EXPECT_TRUE(frontier->set_host(host_of(random() % kHosts), {.leases = 3}));
    }
    queued += offer(*frontier, kHosts + 1000, 100, 1);
    offered = true;
    for (auto& thread : threads)
      thread.join();
    EXPECT_EQ(leased.size() + dropped, queued);
    ASSERT_TRUE(frontier->flush());
    const auto stats = frontier->stats();
    ASSERT_TRUE(stats);
    EXPECT_EQ(stats->queued, 0u);
    EXPECT_EQ(stats->completed + stats->dropped, queued);
    const auto busiest = frontier->busiest_hosts(HostOrder::kQueued, 5);
    ASSERT_TRUE(busiest);
    EXPECT_TRUE(busiest->empty()) << busiest->front().host << " " << busiest->front().queued;
  }
};

TEST_F(FrontierRestoreTest, N1_A1_EachUrlIsLeasedOnceAlthoughNotAllHostsAreKnownYet) {
  use_at_once(1u << 19);
}

TEST_F(FrontierRestoreTest, N1_A1_TheSameIfMostHostsSleep) {
  use_at_once(100);
}

TEST_F(FrontierRestoreTest, AllHostsAreKnownInTheEnd) {
  const EmbeddedOptions options = impatient(100);
  {
    const auto before = open(options);
    offer(*before, kHosts, 0, 3);
    ASSERT_TRUE(before->close());
  }
  const auto frontier = open(options);
  EXPECT_FALSE(frontier->lease({.max = 1, .wait = milliseconds(10'000)})->empty());
  const auto known = [&] { return frontier->stats()->hosts == kHosts; };
  for (int n = 0; n < 5'000 && !known(); ++n)
    std::this_thread::sleep_for(milliseconds(2));
  EXPECT_TRUE(known());
  EXPECT_EQ(frontier->stats()->queued, 3 * kHosts - 1);
  // All except the one that is leased from.
  EXPECT_GE(frontier->stats()->hosts_waiting, kHosts - 1);
}

TEST_F(FrontierRestoreTest, ClosesWhileHostsAreRestored) {
  const EmbeddedOptions options = impatient(1u << 19);
  {
    const auto before = open(options);
    offer(*before, kHosts, 0, 1);
    ASSERT_TRUE(before->close());
  }
  for (int n = 0; n < 5; ++n) {
    const auto frontier = open(options);
    EXPECT_FALSE(frontier->progress()->exhausted);
    std::this_thread::sleep_for(milliseconds(n));
    ASSERT_TRUE(frontier->close());
  }
  const auto frontier = open(options);
  std::uint64_t leased = 0;
  while (leased < kHosts) {
    const auto leases = frontier->lease({.max = 1000, .wait = milliseconds(10'000)});
    ASSERT_FALSE(leases->empty());
    leased += leases->size();
  }
}

}  // namespace
}  // namespace trawl::test
