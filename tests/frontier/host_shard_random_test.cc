// HostShard held against a simple model of it: every operation in random order, with hosts that
// come and go, delays that change, leases that expire, and commits that come late.
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "frontier/schedule/host_shard.h"
#include "tests/frontier/fake_store.h"
#include "tests/frontier/host_shard_fixture.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kHosts = 6;
constexpr milliseconds kBackoff(200);
constexpr milliseconds kMaxBackoff(1000);
constexpr std::uint32_t kHostFailures = 4;

// What is known of a host, from its leases alone. Two times bound when it is due: `earliest` counts
// the requests that may have been made, `latest` those undone as well.
struct ModelHost {
  HostRecord record;
  std::optional<SteadyTime> surely_started;
  std::optional<SteadyTime> ever_started;
  SteadyTime not_before = SteadyTime::min();
  bool dropping = false;
  std::set<std::uint64_t> waiting;           // sequences
  std::map<std::uint64_t, SteadyTime> open;  // lease: when it was handed out
  std::set<std::uint64_t> fetched;           // of the open leases

  SteadyTime due_after(std::optional<SteadyTime> started) const {
    const auto delay = record.delay.value_or(milliseconds(0));
    return started ? std::max(not_before, *started + delay) : not_before;
  }
  SteadyTime earliest() const {
    auto started = surely_started;
    for (const auto& [number, since] : open)
      started = std::max(started, std::optional(since));
    return due_after(started);
  }
  SteadyTime latest() const { return due_after(ever_started); }
  bool may_lease(std::uint32_t leases_per_host) const {
    return !dropping && !record.given_up &&
           open.size() - fetched.size() < record.max_leases.value_or(leases_per_host) &&
           (!record.remaining || open.size() < *record.remaining);
  }
  // When the lease was handed out.
  SteadyTime end(std::uint64_t lease) {
    fetched.erase(lease);
    return open.extract(lease).mapped();
  }
  void note_start(SteadyTime start) {
    surely_started = std::max(surely_started, std::optional(start));
    ever_started = std::max(ever_started, surely_started);
  }
};

struct ModelUrl {
  enum class State { kWaiting, kOpen, kEnding, kGone } state = State::kWaiting;
  std::size_t host;
  QueuedUrl url;
  std::uint64_t lease = 0;  // the newest
};
struct ModelLease {
  std::uint64_t sequence;
  SteadyTime since;
  SteadyTime expires;
  enum class State { kOpen, kExpired, kEnded } state = State::kOpen;
  bool superseded = false;  // its URL was ended by an earlier lease
};

class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed)
      : random_(seed),
        leases_per_host_(1 + below(3)),
        timeout_(below(3) == 0 ? 0 : 500 + below(2000)),
        few_awake_(below(2) == 0),
        restarted_(below(2) == 0 ? std::optional(now_) : std::nullopt),
        shard_(store_, options(seed)) {
    for (auto& host : hosts_)
      host.surely_started = host.ever_started = restarted_;
  }

  void run(int steps) {
    for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE(step);
      take_step();
    }
    drain();
  }

 private:
  using UrlState = ModelUrl::State;
  using LeaseState = ModelLease::State;

  ShardOptions options(std::uint64_t seed) {
    ShardOptions options;
    options.politeness.delay = milliseconds(0);
    options.politeness.leases_per_host = leases_per_host_;
    options.retry.host_backoff = kBackoff;
    options.retry.max_host_backoff = kMaxBackoff;
    options.retry.host_failures = kHostFailures;
    options.lease_timeout = timeout_;
    // Some runs have room for few URLs in memory, or for none.
    options.max_head_bytes = below(3) == 0 ? 1u << 20 : below(2000);
    // Some have room for few hosts in memory, so that others sleep.
    if (few_awake_) options.most_awake = 1 + below(4);
    options.clock = [this] { return now_; };
    options.wall_clock = [this] { return SystemTime(milliseconds(wall_now())); };
    options.restarted = restarted_;
    options.seed = seed;
    return options;
  }

  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  static std::string name(std::size_t host) { return "host" + std::to_string(host) + ".test"; }
  static HostId id(std::size_t host) { return test::id_of(name(host)); }
  std::int64_t wall_now() const {
    return std::chrono::duration_cast<milliseconds>(now_.time_since_epoch()).count() + 1'000'000;
  }

  void take_step() {
    switch (below(17)) {
      case 0:
      case 1:
        return admit(below(20) == 0 ? 150 : 1 + below(3));
      case 2:
        return change_host();
      case 3:
      case 4:
        now_ += milliseconds(below(below(4) == 0 ? 3000 : 60));
        return;
      case 5:
        return tell_of_ends(below(4));
      case 6:
      case 7:
      case 8:
        return end_a_lease();
      case 9:
        return end_a_lease_again();
      case 10:
        return below(10) == 0 ? drop(below(kHosts)) : renew();
      case 11:
        return check_totals();
      case 12:
        return note_fetched();
      default:
        return lease(below(4) == 0 ? 1 : 1'000'000);
    }
  }

  void admit(std::uint32_t n) {
    const std::size_t host = below(kHosts);
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint64_t sequence = urls_.size();
      const auto url = test::queued_url(sequence, static_cast<std::int32_t>(below(3)), name(host));
      store_.put(url);
      shard_.push_admitted(url);
      hosts_[host].waiting.insert(sequence);
      urls_.push_back({.host = host, .url = url});
    }
  }

  void change_host() {
    const std::size_t host = below(kHosts);
    const std::uint32_t what = below(7);
    const std::uint32_t value = below(3);
    // By value: it is called after this has returned, too.
    const auto change = [this, what, value](HostRecord& record) {
      switch (what) {
        case 0:
          record.max_leases.reset();
          if (value > 0) record.max_leases = value;
          return;
        case 1:
          record.remaining.reset();
          if (value > 0) record.remaining = 10 * value;
          return;
        case 2:
          record.blocked_until = wall_now() + 300 * value;
          return;
        case 3:
          record.given_up = false;
          record.failures = 0;
          record.blocked_until = 0;
          return;
        default:
          record.delay = milliseconds(value == 0 ? 3 : 700 * value);
      }
    };
    const HostRecord before = hosts_[host].record;
    change(hosts_[host].record);
    const auto changed = shard_.change_host(id(host), name(host), change);
    ASSERT_TRUE(changed);
    EXPECT_EQ(*changed != 0, hosts_[host].record != before);
    if (*changed != 0) changed_hosts_.push_back(host);
  }

  // The model's part of lease(): what expires comes back.
  void expire() {
    for (auto& [number, lease] : leases_) {
      if (lease.state != LeaseState::kOpen || lease.expires > now_) continue;
      lease.state = LeaseState::kExpired;
      ++expired_;
      ModelUrl& url = urls_[lease.sequence];
      ModelHost& host = hosts_[url.host];
      host.note_start(host.end(number));
      if (lease.superseded) {
        lease.state = LeaseState::kEnded;
        continue;
      }
      url.state = UrlState::kWaiting;
      host.waiting.insert(lease.sequence);
    }
  }

  void lease(std::size_t max) {
    expire();
    std::vector<NumberedLease> leases;
    ASSERT_TRUE(shard_.lease(max, leases));
    std::map<std::size_t, QueueOrder> last_order;
    for (const auto& [number, leased] : leases) {
      ModelUrl& url = urls_.at(leased.order.sequence);
      ModelHost& host = hosts_[url.host];
      EXPECT_EQ(leased.record, url.url.record);
      EXPECT_EQ(leased.host, id(url.host));
      EXPECT_EQ(number, next_lease_++);
      EXPECT_LE(host.earliest(), now_) << name(url.host) << " leased too early";
      EXPECT_LE(host.record.blocked_until, wall_now()) << name(url.host) << " leased while blocked";
      EXPECT_TRUE(host.may_lease(leases_per_host_)) << name(url.host);
      EXPECT_EQ(url.state, UrlState::kWaiting) << "leased twice";
      EXPECT_EQ(leased.order, first_waiting(host));
      host.waiting.erase(leased.order.sequence);
      host.open.emplace(number, now_);
      host.ever_started = std::max(host.ever_started, std::optional(now_));
      url.state = UrlState::kOpen;
      url.lease = number;
      const SteadyTime expires = timeout_.count() > 0 ? now_ + timeout_ : SteadyTime::max();
      leases_[number] = {.sequence = leased.order.sequence, .since = now_, .expires = expires};
    }
    for (std::size_t i = 0; i < kHosts; ++i) {
      ModelHost& host = hosts_[i];
      if (leases.size() < max && !host.waiting.empty() && host.may_lease(leases_per_host_) &&
          host.record.blocked_until <= wall_now()) {
        EXPECT_GT(host.latest(), now_) << name(i) << " was due and not leased";
      }
      // An idle host may be forgotten, and another may sleep, once its delay has passed.
      if ((host.waiting.empty() || few_awake_) && host.open.empty() && host.earliest() <= now_) {
        host.surely_started = restarted_;
        host.not_before = SteadyTime::min();
      }
    }
  }

  QueueOrder first_waiting(const ModelHost& host) const {
    QueueOrder first{.priority = -1, .sequence = 0};
    for (const std::uint64_t sequence : host.waiting)
      first = std::min(first, urls_[sequence].url.order);
    return first;
  }

  std::optional<std::uint64_t> some_lease(LeaseState state) {
    std::vector<std::uint64_t> numbers;
    for (const auto& [number, lease] : leases_) {
      if (lease.state == state) numbers.push_back(number);
    }
    if (numbers.empty()) return std::nullopt;
    return numbers[below(static_cast<std::uint32_t>(numbers.size()))];
  }

  void end_a_lease() {
    const auto number = some_lease(LeaseState::kOpen);
    if (!number) return;
    switch (below(5)) {
      case 0:
        return release(*number);
      case 1:
        return complete(*number, {.requested = false});
      case 2:
        return fail_lease(*number);
      default:
        return complete(*number, {.started_after = some_time_of(leases_[*number].since)});
    }
  }

  void end_a_lease_again() {
    const auto number = some_lease(below(2) == 0 ? LeaseState::kExpired : LeaseState::kEnded);
    if (!number) return;
    EXPECT_EQ(shard_.renew(*number).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(shard_.fetched(*number, milliseconds(0)).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(shard_.release(*number, std::nullopt).error().code, ErrorCode::kNotFound);
    if (below(3) == 0) {
      const auto failure = shard_.begin_failure(*number, FailureReason::kTimeout, {}, {});
      ASSERT_TRUE(failure);
      EXPECT_EQ(failure->lease.end, LeaseEnd::kRepeated);
      EXPECT_FALSE(failure->blocked_until);
      ++repeated_;
      return;
    }
    complete(*number, {.requested = below(2) == 0});
  }

  milliseconds some_time_of(SteadyTime since) {
    const auto open_for = std::chrono::duration_cast<milliseconds>(now_ - since);
    return milliseconds(below(static_cast<std::uint32_t>(open_for.count()) + 1));
  }

  void release(std::uint64_t number) {
    ModelLease& lease = leases_[number];
    ModelUrl& url = urls_[lease.sequence];
    ModelHost& host = hosts_[url.host];
    std::optional<SteadyTime> next_start;
    milliseconds after(0);
    if (below(2) == 0) {
      next_start = now_ + milliseconds(below(300));
      after = some_time_of(lease.since);
      host.not_before = std::max(host.not_before, *next_start);
      host.note_start(lease.since + after);
    }
    ASSERT_TRUE(shard_.release(number, next_start, after));
    host.end(number);
    lease.state = LeaseState::kEnded;
    if (lease.superseded) return;
    url.state = UrlState::kWaiting;
    host.waiting.insert(lease.sequence);
  }

  LeaseEnd expected_end(const ModelLease& lease) const {
    const ModelUrl& url = urls_[lease.sequence];
    switch (lease.state) {
      case LeaseState::kOpen:
        return lease.superseded ? LeaseEnd::kRepeated : LeaseEnd::kOpen;
      case LeaseState::kExpired:
        return url.state == UrlState::kWaiting || url.state == UrlState::kOpen
                   ? LeaseEnd::kLate
                   : LeaseEnd::kRepeated;
      case LeaseState::kEnded:
        break;
    }
    return LeaseEnd::kRepeated;
  }

  void complete(std::uint64_t number, const Outcome& outcome) {
    ModelLease& lease = leases_[number];
    ModelUrl& url = urls_[lease.sequence];
    ModelHost& host = hosts_[url.host];
    const LeaseEnd end = expected_end(lease);
    const auto ended = shard_.begin_completion(number, outcome);
    ASSERT_TRUE(ended);
    ASSERT_EQ(ended->end, end);
    const bool was_open = lease.state == LeaseState::kOpen;
    if (was_open) host.end(number);
    if (outcome.requested && (was_open || end == LeaseEnd::kLate))
      host.note_start(lease.since + outcome.started_after);
    lease.state = LeaseState::kEnded;
    if (end == LeaseEnd::kRepeated) {
      ++repeated_;
      return;
    }
    EXPECT_EQ(ended->url.record, url.url.record);
    EXPECT_EQ(ended->url.order, url.url.order);
    EXPECT_EQ(ended->url.host, url.url.host);
    if (end == LeaseEnd::kLate) {
      ++late_;
      if (url.state == UrlState::kOpen) leases_[url.lease].superseded = true;
      host.waiting.erase(lease.sequence);
    }
    end_url(lease.sequence);
    const HostRecord before = host.record;
    if (outcome.requested && !host.record.is_default()) {
      host.record.failures = 0;
      if (host.record.remaining.value_or(0) > 0) --*host.record.remaining;
      if (host.record.blocked_until <= wall_now()) host.record.blocked_until = 0;
    }
    EXPECT_EQ(ended->host_changed, host.record != before);
    if (ended->host_changed) changed_hosts_.push_back(url.host);
  }

  void fail_lease(std::uint64_t number) {
    ModelLease& lease = leases_[number];
    ModelUrl& url = urls_[lease.sequence];
    ModelHost& host = hosts_[url.host];
    const auto failure = shard_.begin_failure(number, FailureReason::kConnection, std::nullopt, {});
    ASSERT_TRUE(failure);
    host.end(number);
    host.note_start(lease.since);
    lease.state = LeaseState::kEnded;
    if (lease.superseded) {
      EXPECT_EQ(failure->lease.end, LeaseEnd::kRepeated);
      ++repeated_;
      return;
    }
    EXPECT_EQ(failure->lease.end, LeaseEnd::kOpen);
    EXPECT_TRUE(failure->lease.host_changed);
    end_url(lease.sequence);
    changed_hosts_.push_back(url.host);
    const bool was_given_up = host.record.given_up;
    host.record.given_up |= ++host.record.failures >= kHostFailures;
    EXPECT_EQ(failure->given_up, host.record.given_up && !was_given_up);
    ASSERT_TRUE(failure->blocked_until);
    const auto until = std::chrono::floor<milliseconds>(failure->blocked_until->time_since_epoch());
    const auto most = std::min(kMaxBackoff, kBackoff * (1 << (host.record.failures - 1)));
    EXPECT_GE(until.count(), wall_now() + most.count() / 2);
    EXPECT_LE(until.count(), std::max(host.record.blocked_until, wall_now() + most.count()));
    host.record.blocked_until = until.count();
  }

  void end_url(std::uint64_t sequence) {
    urls_[sequence].state = UrlState::kEnding;
    committing_.push_back(sequence);
  }

  void renew() {
    const auto number = some_lease(LeaseState::kOpen);
    if (!number) return;
    ASSERT_TRUE(shard_.renew(*number));
    if (timeout_.count() > 0) leases_[*number].expires = now_ + timeout_;
  }

  void note_fetched() {
    const auto number = some_lease(LeaseState::kOpen);
    if (!number) return;
    const ModelLease& lease = leases_[*number];
    ModelHost& host = hosts_[urls_[lease.sequence].host];
    const bool could_lease = host.may_lease(leases_per_host_);
    const milliseconds after = some_time_of(lease.since);
    if (host.fetched.insert(*number).second) host.note_start(lease.since + after);
    const bool knows_all = below(2) == 0;
    if (knows_all) shard_.take_inbox();
    const auto leasable = shard_.fetched(*number, after);
    ASSERT_TRUE(leasable);
    if (could_lease || !host.may_lease(leases_per_host_)) {
      EXPECT_FALSE(*leasable);
    } else if (knows_all && !host.waiting.empty()) {
      EXPECT_TRUE(*leasable);
    }
  }

  void drop(std::size_t host) {
    static_cast<void>(shard_.begin_drop(id(host)));
    std::uint64_t dropped = 0;
    for (ModelUrl& url : urls_) {
      if (url.host != host || url.state == UrlState::kGone) continue;
      const bool stays = shard_.is_leased(id(host), url.url.order.sequence);
      ASSERT_EQ(stays, url.state != UrlState::kWaiting);
      if (stays) continue;
      store_.remove(url.url);
      hosts_[host].waiting.erase(url.url.order.sequence);
      url.state = UrlState::kGone;
      ++dropped;
    }
    hosts_[host].dropping = true;
    lease(5);
    hosts_[host].dropping = false;
    shard_.end_drop(id(host), dropped);
  }

  // The committer: ends of URLs and changes of hosts become durable.
  void tell_of_ends(std::size_t n) {
    for (; n > 0 && !committing_.empty(); --n) {
      ModelUrl& url = urls_[committing_.front()];
      store_.remove(url.url);
      url.state = UrlState::kGone;
      shard_.push_ended(url.url.host, committing_.front());
      committing_.pop_front();
    }
    for (const std::size_t host : changed_hosts_) {
      const HostRecord record = shard_.record_of(id(host)).value_or(HostRecord{});
      expect_record(host, record);
      if (record.is_default()) {
        store_.host_records.erase(id(host));
      } else {
        store_.host_records[id(host)] = record;
      }
      shard_.push_saved(id(host));
    }
    changed_hosts_.clear();
  }

  void expect_record(std::size_t host, HostRecord record) const {
    EXPECT_EQ(record.name, record.is_default() ? "" : name(host));
    record.name.clear();
    EXPECT_EQ(record, hosts_[host].record);
  }

  void check_totals() {
    const ShardStats stats = shard_.stats();
    bool exhausted = true;
    std::size_t leased = committing_.size();
    for (std::size_t i = 0; i < kHosts; ++i) {
      const ModelHost& host = hosts_[i];
      leased += host.open.size();
      if (!host.waiting.empty() && !host.record.given_up && host.record.remaining != 0)
        exhausted = false;
      if (const auto info = shard_.info(id(i))) {
        EXPECT_EQ(info->leased, host.open.size());
        EXPECT_EQ(info->failures, host.record.failures);
        EXPECT_EQ(info->state, state_of(host));
      }
    }
    // A superseded lease counts, and so does the end of its URL until it is durable.
    EXPECT_EQ(stats.leased, leased);
    EXPECT_EQ(stats.expired, expired_);
    EXPECT_EQ(stats.late, late_);
    EXPECT_EQ(stats.repeated, repeated_);
    if (!exhausted) {
      EXPECT_GT(shard_.stats().leasable, 0u);
    }
  }

  HostState state_of(const ModelHost& host) const {
    if (host.record.given_up) return HostState::kParked;
    if (host.record.remaining == 0) return HostState::kAtLimit;
    return host.record.blocked_until > wall_now() ? HostState::kBlocked : HostState::kActive;
  }

  // Everything is leased in the end, and every host forgotten.
  void drain() {
    for (std::size_t host = 0; host < kHosts; ++host) {
      hosts_[host].record = {};
      const auto changed = shard_.change_host(id(host), name(host),
                                              [](HostRecord& record) { record = HostRecord{}; });
      ASSERT_TRUE(changed);
      if (*changed != 0) changed_hosts_.push_back(host);
    }
    for (int round = 0; round < 5000 && !::testing::Test::HasFailure(); ++round) {
      now_ += milliseconds(3000);
      lease(1'000'000);
      while (const auto number = some_lease(LeaseState::kOpen))
        complete(*number, {});
      if (committing_.empty() && shard_.stats().hosts == 0) break;
      tell_of_ends(committing_.size());
    }
    for (const ModelUrl& url : urls_)
      EXPECT_EQ(url.state, UrlState::kGone);
    EXPECT_EQ(shard_.stats().leasable, 0u);
    EXPECT_EQ(shard_.stats().hosts, 0u);
    EXPECT_EQ(shard_.stats().leased, 0u);
    EXPECT_TRUE(store_.host_records.empty());
  }

  std::mt19937_64 random_;
  SteadyTime now_ = SteadyTime{} + std::chrono::hours(1);
  test::FakeStore store_;
  const std::uint32_t leases_per_host_;
  const milliseconds timeout_;
  const bool few_awake_;
  const std::optional<SteadyTime> restarted_;
  HostShard shard_;
  std::array<ModelHost, kHosts> hosts_;
  std::vector<ModelUrl> urls_;  // by sequence
  std::map<std::uint64_t, ModelLease> leases_;
  std::deque<std::uint64_t> committing_;    // URLs that ended, not yet passed to the shard
  std::vector<std::size_t> changed_hosts_;  // not yet in the store
  std::uint64_t next_lease_ = 1;
  std::uint64_t expired_ = 0;
  std::uint64_t late_ = 0;
  std::uint64_t repeated_ = 0;
};

TEST(HostShardRandom, P1_DoesWhatItsModelDoes) {
  const std::uint64_t seed = std::random_device{}();
  for (std::uint64_t run = 0; run < 20 && !::testing::Test::HasFailure(); ++run) {
    SCOPED_TRACE(testing::Message() << "seed " << seed + run);
    RandomRun(seed + run).run(1500);
  }
}

}  // namespace
}  // namespace trawl
