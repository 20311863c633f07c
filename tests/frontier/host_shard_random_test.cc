// HostShard held against a simple model of it, with delays that change back and forth and hosts
// that come and go.
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "frontier/host_shard.h"
#include "tests/frontier/fake_store.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kHosts = 6;

// What is known of a host, from its leases alone. Two times bound when it is due: `earliest` counts
// the requests that may have been made, `latest` those undone as well.
struct ModelHost {
  milliseconds delay{0};
  std::optional<SteadyTime> surely_started;
  std::optional<SteadyTime> ever_started;
  SteadyTime not_before = SteadyTime::min();
  std::size_t queued = 0;
  std::map<std::uint64_t, SteadyTime> open;  // lease: when it was handed out

  SteadyTime due_after(std::optional<SteadyTime> started) const {
    return started ? std::max(not_before, *started + delay) : not_before;
  }
  SteadyTime earliest() const {
    auto started = surely_started;
    for (const auto& [number, since] : open)
      started = std::max(started, std::optional(since));
    return due_after(started);
  }
  SteadyTime latest() const { return due_after(ever_started); }
};

class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed)
      : random_(seed),
        leases_per_host_(1 + below(3)),
        restarted_(below(2) == 0 ? std::optional(now_) : std::nullopt),
        shard_(store_, {.delay = milliseconds(0),
                        .leases_per_host = leases_per_host_,
                        .max_leases = 1'000'000,
                        .clock = [this] { return now_; },
                        .restarted = restarted_,
                        .first_lease = 1}) {
    for (auto& host : hosts_) {
      host.surely_started = host.ever_started = restarted_;
    }
  }

  void run(int steps) {
    for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE(step);
      take_step();
    }
    drain();
  }

 private:
  struct OpenLease {
    std::uint64_t number;
    QueuedUrl url;
  };

  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  static std::string name(std::size_t host) { return "host" + std::to_string(host); }
  ModelHost& model_of(const QueuedUrl& url) { return hosts_[std::stoul(url.host.substr(4))]; }

  void take_step() {
    switch (below(10)) {
      case 0:
        return admit(below(20) == 0 ? 150 : 1 + below(3));
      case 1:
      case 2:
        return set_delay();
      case 3:
        now_ += milliseconds(below(below(4) == 0 ? 3000 : 60));
        return;
      case 4:
        return tell_of_completions(below(4));
      case 5:
      case 6:
        return end_a_lease();
      default:
        return lease(below(4) == 0 ? 1 : 1'000'000);
    }
  }

  void admit(std::uint32_t n) {
    const std::size_t host = below(kHosts);
    for (std::uint32_t i = 0; i < n; ++i) {
      const QueuedUrl url{
          .host = name(host),
          .order = {.priority = static_cast<std::int32_t>(below(3)), .sequence = next_sequence_++},
          .url = "",
          .parent = "",
          .depth = 0,
          .redirects = 0};
      store_.put(url);
      shard_.push_admitted(url);
      ++hosts_[host].queued;
    }
  }

  void set_delay() {
    const std::size_t host = below(kHosts);
    hosts_[host].delay = milliseconds(below(3) == 0 ? below(5) : 1 + below(2000));
    shard_.set_delay(name(host), hosts_[host].delay);
  }

  void lease(std::size_t max) {
    std::vector<NumberedLease> leases;
    ASSERT_TRUE(shard_.lease(max, leases));
    for (const auto& [number, url] : leases) {
      ModelHost& host = model_of(url);
      EXPECT_LE(host.earliest(), now_) << url.host << " leased too early";
      EXPECT_LT(host.open.size(), leases_per_host_);
      EXPECT_TRUE(known_.insert(url.order.sequence).second) << "leased twice";
      --host.queued;
      host.open.emplace(number, now_);
      host.ever_started = std::max(host.ever_started, std::optional(now_));
      open_.push_back({number, url});
    }
    for (std::size_t i = 0; i < kHosts; ++i) {
      ModelHost& host = hosts_[i];
      const bool may_lease = host.open.size() < leases_per_host_;
      if (leases.size() < max && host.queued > 0 && may_lease) {
        EXPECT_GT(host.latest(), now_) << name(i) << " was due and not leased";
      }
      // An idle host may be forgotten once its delay has passed.
      if (host.queued == 0 && host.open.empty() && host.earliest() <= now_) {
        host.surely_started = restarted_;
        host.not_before = SteadyTime::min();
      }
    }
  }

  void end_a_lease() {
    if (open_.empty()) return;
    std::swap(open_[below(static_cast<std::uint32_t>(open_.size()))], open_.back());
    const OpenLease lease = std::move(open_.back());
    open_.pop_back();
    ModelHost& host = model_of(lease.url);
    const SteadyTime since = host.open.extract(lease.number).mapped();
    switch (below(4)) {
      case 0: {
        std::optional<SteadyTime> next_start;
        milliseconds after(0);
        if (below(2) == 0) {
          next_start = now_ + milliseconds(below(300));
          after = some_time_of(since);
          host.not_before = std::max(host.not_before, *next_start);
          note_start(host, since + after);
        }
        ASSERT_TRUE(shard_.release(lease.number, next_start, after));
        known_.erase(lease.url.order.sequence);
        ++host.queued;
        return;
      }
      case 1:
        return complete(lease, {.requested = false});
      default: {
        const milliseconds after = some_time_of(since);
        note_start(host, since + after);
        complete(lease, {.started_after = after});
      }
    }
  }

  milliseconds some_time_of(SteadyTime since) {
    const auto open_for = std::chrono::duration_cast<milliseconds>(now_ - since);
    return milliseconds(below(static_cast<std::uint32_t>(open_for.count()) + 1));
  }
  static void note_start(ModelHost& host, SteadyTime start) {
    host.surely_started = std::max(host.surely_started, std::optional(start));
    host.ever_started = std::max(host.ever_started, host.surely_started);
  }

  void complete(const OpenLease& lease, const Outcome& outcome) {
    ASSERT_TRUE(shard_.begin_completion(lease.number, outcome));
    committing_.push_back(lease.url);
  }

  void tell_of_completions(std::size_t n) {
    for (; n > 0 && !committing_.empty(); --n) {
      store_.queues[committing_.front().host].erase(committing_.front().order);
      shard_.push_completed(committing_.front().order.sequence);
      committing_.pop_front();
    }
  }

  // Everything is leased in the end, and every host forgotten.
  void drain() {
    for (int round = 0; round < 5000 && !::testing::Test::HasFailure(); ++round) {
      now_ += milliseconds(3000);
      lease(1'000'000);
      for (const OpenLease& lease : open_) {
        model_of(lease.url).open.erase(lease.number);
        complete(lease, {});
      }
      if (open_.empty() && shard_.hosts() == 0) break;
      open_.clear();
      tell_of_completions(committing_.size());
    }
    EXPECT_EQ(known_.size(), next_sequence_);
    EXPECT_EQ(shard_.hosts(), 0u);
    EXPECT_EQ(shard_.leased(), 0u);
  }

  std::mt19937_64 random_;
  SteadyTime now_ = SteadyTime{} + std::chrono::hours(1);
  test::FakeStore store_;
  const std::uint32_t leases_per_host_;
  const std::optional<SteadyTime> restarted_;
  HostShard shard_;
  std::array<ModelHost, kHosts> hosts_;
  std::uint64_t next_sequence_ = 0;
  std::set<std::uint64_t> known_;  // leased or completed
  std::vector<OpenLease> open_;
  std::deque<QueuedUrl> committing_;  // completed, and not yet told to the shard
};

TEST(HostShardRandom, P1_HostsAreLeasedWhenTheyAreDueWhateverBecomesOfTheirDelays) {
  const std::uint64_t seed = std::random_device{}();
  for (std::uint64_t run = 0; run < 20 && !::testing::Test::HasFailure(); ++run) {
    SCOPED_TRACE(testing::Message() << "seed " << seed + run);
    RandomRun(seed + run).run(4000);
  }
}

}  // namespace
}  // namespace trawl
