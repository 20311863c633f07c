// HostShard with ranges that come and go in random order, held against a simple model: while URLs
// are leased, completed, released and expire, and in the middle of reads.
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "base/quota.h"
#include "frontier/schedule/host_shard.h"
#include "tests/frontier/fake_store.h"
#include "tests/frontier/host_shard_fixture.h"
#include "tests/frontier/host_shard_ranges_fixture.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;

class RangesRun {
  static constexpr std::size_t kBuckets = 3;
  static constexpr std::size_t kHosts = 3;  // of each
  static constexpr std::uint64_t kQuota = 12;
  static constexpr milliseconds kDomainDelay{150};
  // A range that may be leased from, or read, again is asked about within this time.
  static constexpr milliseconds kAskedWithin{100};

  using UrlId = std::pair<std::size_t, std::uint64_t>;  // bucket and sequence

  struct ModelUrl {
    enum class State { kWaiting, kOpen, kEnding } state = State::kWaiting;
    std::size_t host;
    std::uint64_t lease = 0;  // the newest
  };
  struct ModelHost {
    milliseconds delay{0};
    std::optional<SteadyTime> surely_started;  // by this owner
    std::optional<SteadyTime> ever_started;
    std::set<std::uint64_t> waiting;           // sequences
    std::map<std::uint64_t, SteadyTime> open;  // lease: when it was handed out
    std::set<std::uint64_t> fetched;           // of the open leases

    std::size_t requested() const { return open.size() - fetched.size(); }
    void end(std::uint64_t lease) {
      fetched.erase(lease);
      open.erase(lease);
    }
    void note_start(SteadyTime start) {
      surely_started = std::max(surely_started, std::optional(start));
      ever_started = std::max(ever_started, surely_started);
    }
  };
  struct ModelBucket {
    bool taken = false;
    bool stopped = false;
    std::uint64_t times_taken = 0;
    SteadyTime since;
    SteadyTime resumed = SteadyTime::min();
    std::array<ModelHost, kHosts> hosts;
    std::uint64_t next_sequence = 0;
  };
  struct ModelLease {
    UrlId url;
    std::size_t host;
    SteadyTime since;
    SteadyTime expires;
    enum class State { kOpen, kExpired, kEnded } state = State::kOpen;
    bool superseded = false;
  };

 public:
  explicit RangesRun(std::uint64_t seed)
      : random_(seed),
        leases_per_host_(1 + below(3)),
        timeout_(below(3) == 0 ? 0 : 500 + below(2000)),
        few_awake_(below(3) == 0),
        has_domains_(below(3) == 0),
        shard_(in_parts_, options(seed)) {}

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
    options.lease_timeout = timeout_;
    options.max_head_bytes = below(2) == 0 ? 1u << 20 : below(2000);
    if (few_awake_) options.most_awake = 1 + below(4);
    options.clock = [this] { return now_; };
    options.wall_clock = [this] { return SystemTime(now_.time_since_epoch()); };
    options.seed = seed;
    options.in_ranges = true;
    options.may_lease = [this](HostId id) { return !buckets_[test::bucket_of(id)].stopped; };
    options.leases = &quota_;
    if (has_domains_) options.domains = &domains_;
    options.after_read = options.after_record_read = [this] { meanwhile(); };
    return options;
  }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  // Its URL may be gone.
  ModelHost& host_of(const ModelLease& lease) {
    return buckets_[lease.url.first].hosts[lease.host];
  }

  void take_step() {
    const std::size_t bucket = below(kBuckets);
    switch (below(18)) {
      case 0:
      case 1:
        return admit(bucket, below(10) == 0 ? 80 : 1 + below(3));
      case 2:
        return change_host(bucket, below(kHosts));
      case 3:
      case 4:
        now_ += milliseconds(below(below(4) == 0 ? 1500 : 60));
        return;
      case 5:
        return commit(below(4));
      case 6:
      case 7:
      case 8:
        return end_a_lease();
      case 9:
        return end_a_lease_again();
      case 10:
        return below(3) == 0 ? forget(bucket) : take(bucket);
      case 11:
        buckets_[bucket].stopped = below(2) == 0 && !buckets_[bucket].stopped;
        if (below(3) == 0 && in_parts_.away.erase(bucket) == 0) in_parts_.away.insert(bucket);
        buckets_[bucket].resumed = now_;
        return;
      case 12:
        return check_totals();
      case 13:
        return note_fetched();
      default:
        return lease(below(4) == 0 ? 1 : 1'000'000);
    }
  }

  // While the store is read.
  void meanwhile() {
    if (below(6) > 0) return;
    disturbed_ = true;
    const std::size_t bucket = below(kBuckets);
    forget(bucket);
    if (below(2) == 0) take(bucket);
  }

  // If another crawler has the bucket, only the store has the URLs.
  void admit(std::size_t bucket, std::uint32_t n) {
    const std::size_t host = below(kHosts);
    ModelBucket& in = buckets_[bucket];
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint64_t sequence = in.next_sequence++;
      const auto url = test::url_in(bucket, host, sequence);
      store_.put(url);
      if (in.taken) shard_.push_admitted(url);
      in.hosts[host].waiting.insert(sequence);
      urls_.emplace(UrlId{bucket, sequence}, ModelUrl{.host = host});
    }
  }

  void take(std::size_t bucket) {
    ModelBucket& in = buckets_[bucket];
    if (in.taken) return;
    // The owner before has fetched something.
    for (ModelHost& host : in.hosts) {
      if (host.waiting.empty() || below(3) > 0) continue;
      const UrlId url{bucket, *host.waiting.begin()};
      store_.remove(test::url_in(bucket, urls_.at(url).host, url.second));
      host.waiting.erase(host.waiting.begin());
      urls_.erase(url);
    }
    in.taken = true;
    in.since = now_;
    ++in.times_taken;
    const HostRange range = test::range_of(bucket);
    shard_.begin_taking(range, now_);
    for (std::size_t host = 0; host < kHosts; ++host) {
      const HostId id = test::host_in(bucket, host);
      const auto record = store_.host(id).value();
      in.hosts[host].delay = record ? record->delay.value_or(milliseconds(0)) : milliseconds(0);
      in.hosts[host].surely_started = in.hosts[host].ever_started = in.since;
      const auto queue = store_.queues.find(id);
      if (queue == store_.queues.end()) continue;
      QueueBeginning beginning;
      const std::size_t limit = below(5);
      for (const auto& [order, url] : queue->second) {
        if (beginning.urls.size() == limit) break;
        beginning.urls.push_back({.host = id, .order = order, .record = url});
      }
      beginning.whole = beginning.urls.size() == queue->second.size();
      shard_.restore_host(id, record, beginning);
    }
    shard_.end_taking(range);
    for (std::size_t host = 0; host < kHosts; ++host)
      shard_.add_counted(test::host_in(bucket, host), in.hosts[host].waiting.size());
  }

  void forget(std::size_t bucket) {
    ModelBucket& in = buckets_[bucket];
    shard_.forget_hosts(test::range_of(bucket));
    EXPECT_EQ(shard_.leased_in(test::range_of(bucket)), 0u);
    if (!in.taken) return;
    in.taken = false;
    for (ModelHost& host : in.hosts) {
      host.open.clear();
      host.fetched.clear();
    }
    for (auto& [number, lease] : leases_) {
      if (lease.url.first == bucket) lease.state = LeaseState::kEnded;
    }
    // Ends that are not durable are lost.
    for (auto& [id, url] : urls_) {
      if (id.first != bucket || url.state == UrlState::kWaiting) continue;
      url.state = UrlState::kWaiting;
      in.hosts[url.host].waiting.insert(id.second);
    }
    std::erase_if(saving_, [&](HostId id) { return test::bucket_of(id) == bucket; });
    std::erase_if(ending_, [&](const UrlId& url) { return url.first == bucket; });
    EXPECT_FALSE(shard_.record_of(test::host_in(bucket, 0)));
  }

  void change_host(std::size_t bucket, std::size_t host) {
    const milliseconds delay(below(3) * 300);
    const HostId id = test::host_in(bucket, host);
    const auto changed = shard_.change_host(id, test::name_in(bucket, host),
                                            [delay](HostRecord& record) { record.delay = delay; });
    ASSERT_EQ(changed.has_value(), buckets_[bucket].taken);
    if (!changed || *changed == 0) return;
    buckets_[bucket].hosts[host].delay = delay;
    changed_.push_back({bucket, host, buckets_[bucket].times_taken, *changed});
  }

  SteadyTime due_after(const ModelHost& host, std::optional<SteadyTime> started) const {
    return started ? *started + host.delay : SteadyTime::min();
  }
  SteadyTime earliest(const ModelHost& host) const {
    auto started = host.surely_started;
    for (const auto& [number, since] : host.open)
      started = std::max(started, std::optional(since));
    return due_after(host, started);
  }
  SteadyTime domain_due(const ModelBucket& bucket) const {
    SteadyTime started = bucket.since;
    for (const ModelHost& host : bucket.hosts) {
      started = std::max(started, host.surely_started.value_or(SteadyTime::min()));
      for (const auto& [number, since] : host.open)
        started = std::max(started, since);
    }
    return started + kDomainDelay;
  }

  void expire() {
    for (auto& [number, lease] : leases_) {
      if (lease.state != LeaseState::kOpen || lease.expires > now_) continue;
      lease.state = LeaseState::kExpired;
      ModelHost& host = host_of(lease);
      host.surely_started = std::max(host.surely_started, std::optional(lease.since));
      host.end(number);
      if (lease.superseded) {
        lease.state = LeaseState::kEnded;
        continue;
      }
      urls_.at(lease.url).state = UrlState::kWaiting;
      host.waiting.insert(lease.url.second);
    }
  }

  void lease(std::size_t max) {
    expire();
    disturbed_ = false;
    std::vector<NumberedLease> leases;
    ASSERT_TRUE(shard_.lease(max, leases));
    const bool was_disturbed = disturbed_;
    for (const auto& [number, leased] : leases) {
      const UrlId id{test::bucket_of(leased.host), leased.order.sequence};
      ModelBucket& bucket = buckets_[id.first];
      ASSERT_TRUE(bucket.taken) << id.first << " is another's";
      EXPECT_FALSE(bucket.stopped);
      ASSERT_TRUE(urls_.contains(id));
      ModelUrl& url = urls_.at(id);
      ModelHost& host = bucket.hosts[url.host];
      EXPECT_LE(earliest(host), now_) << "leased too early";
      if (has_domains_) {
        EXPECT_LE(domain_due(bucket), now_) << "of its domain";
      }
      EXPECT_LT(host.requested(), leases_per_host_);
      EXPECT_EQ(url.state, UrlState::kWaiting) << "leased twice";
      EXPECT_EQ(leased.record, test::url_in(id.first, url.host, id.second).record);
      EXPECT_EQ(id.second, *host.waiting.begin());
      host.waiting.erase(id.second);
      host.open.emplace(number, now_);
      host.ever_started = std::max(host.ever_started, std::optional(now_));
      url.state = UrlState::kOpen;
      url.lease = number;
      EXPECT_FALSE(leases_.contains(number));
      leases_[number] = {.url = id,
                         .host = url.host,
                         .since = now_,
                         .expires = timeout_.count() > 0 ? now_ + timeout_ : SteadyTime::max()};
    }
    const bool all_due =
        leases.size() < max && quota_.has_any() && !was_disturbed && !few_awake_ && !has_domains_;
    for (ModelBucket& bucket : buckets_) {
      if (!bucket.taken) continue;
      const auto number = static_cast<std::uint64_t>(&bucket - buckets_.data());
      const bool is_away = in_parts_.away.contains(number);
      for (ModelHost& host : bucket.hosts) {
        if (all_due && !bucket.stopped && !is_away && now_ >= bucket.resumed + kAskedWithin &&
            !host.waiting.empty() && host.requested() < leases_per_host_) {
          EXPECT_GT(due_after(host, host.ever_started), now_) << "was due and not leased";
        }
        // An idle host may be forgotten, and another may sleep, once its delay has passed.
        if ((host.waiting.empty() || few_awake_) && host.open.empty() && earliest(host) <= now_ &&
            (!has_domains_ || domain_due(bucket) <= now_))
          host.surely_started = bucket.since;
      }
    }
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
    const std::uint32_t how = below(4);
    if (how > 0) return complete(*number, how > 1);
    ModelLease& lease = leases_[*number];
    ModelHost& host = host_of(lease);
    ASSERT_TRUE(shard_.release(*number, std::nullopt));
    host.end(*number);
    lease.state = LeaseState::kEnded;
    if (lease.superseded) return;
    urls_.at(lease.url).state = UrlState::kWaiting;
    host.waiting.insert(lease.url.second);
  }

  void note_fetched() {
    const auto number = some_lease(LeaseState::kOpen);
    if (!number) return;
    const ModelLease& lease = leases_[*number];
    ModelHost& host = host_of(lease);
    const auto open_for = std::chrono::duration_cast<milliseconds>(now_ - lease.since);
    const milliseconds after(below(static_cast<std::uint32_t>(open_for.count()) + 1));
    ASSERT_TRUE(shard_.fetched(*number, after));
    if (host.fetched.insert(*number).second) host.note_start(lease.since + after);
  }

  // Also those that are of a bucket that was forgotten.
  void end_a_lease_again() {
    const auto number = some_lease(below(2) == 0 ? LeaseState::kExpired : LeaseState::kEnded);
    if (!number) return;
    EXPECT_EQ(shard_.renew(*number).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(shard_.fetched(*number, milliseconds(0)).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(shard_.release(*number, std::nullopt).error().code, ErrorCode::kNotFound);
    complete(*number, below(2) == 0);
  }

  void complete(std::uint64_t number, bool requested) {
    // The store may be read for a late completion, and the bucket be forgotten meanwhile.
    const auto ended = shard_.begin_completion(number, {.requested = requested});
    ASSERT_TRUE(ended);
    ModelLease& lease = leases_[number];
    const bool was_open = lease.state == LeaseState::kOpen;
    LeaseEnd end = LeaseEnd::kRepeated;
    if (was_open && !lease.superseded) end = LeaseEnd::kOpen;
    if (lease.state == LeaseState::kExpired && urls_.contains(lease.url) &&
        urls_.at(lease.url).state != UrlState::kEnding)
      end = LeaseEnd::kLate;
    ASSERT_EQ(ended->end, end);
    EXPECT_FALSE(ended->host_changed);
    if (was_open || end == LeaseEnd::kLate) {
      ModelHost& host = host_of(lease);
      host.end(number);
      if (requested) host.note_start(lease.since);
    }
    lease.state = LeaseState::kEnded;
    if (end == LeaseEnd::kRepeated) return;
    ModelUrl& url = urls_.at(lease.url);
    EXPECT_EQ(ended->url.order.sequence, lease.url.second);
    EXPECT_EQ(ended->url.host, test::host_in(lease.url.first, url.host));
    if (end == LeaseEnd::kLate) {
      if (url.state == UrlState::kOpen) leases_[url.lease].superseded = true;
      host_of(lease).waiting.erase(lease.url.second);
    }
    url.state = UrlState::kEnding;
    ending_.push_back(lease.url);
  }

  void commit(std::size_t n) {
    for (; n > 0 && !ending_.empty(); --n) {
      const UrlId id = ending_.front();
      ending_.pop_front();
      const auto url = test::url_in(id.first, urls_.at(id).host, id.second);
      store_.remove(url);
      shard_.push_ended(url.host, id.second);
      urls_.erase(id);
    }
    for (const Changed& changed : changed_) {
      const ModelBucket& bucket = buckets_[changed.bucket];
      if (!bucket.taken || bucket.times_taken != changed.times_taken) continue;
      const HostId id = test::host_in(changed.bucket, changed.host);
      const auto record = shard_.record_of(id, changed.number);
      // It may have been stored with a later change, and the host been forgotten.
      if (record) store_.host_records[id] = *record;
      saving_.push_back(id);
    }
    changed_.clear();
    while (!saving_.empty() && below(4) > 0) {
      shard_.push_saved(saving_.front());
      saving_.pop_front();
    }
  }

  void check_totals() {
    std::size_t all = 0;
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
      std::size_t leased = 0;
      for (const ModelHost& host : buckets_[bucket].hosts)
        leased += host.open.size();
      for (const UrlId& url : ending_)
        leased += url.first == bucket ? 1 : 0;
      EXPECT_EQ(shard_.leased_in(test::range_of(bucket)), leased);
      all += leased;
      for (std::size_t host = 0; host < kHosts; ++host) {
        const auto counts = shard_.counts(test::host_in(bucket, host));
        if (!buckets_[bucket].taken) {
          EXPECT_FALSE(counts);
        } else if (counts) {
          EXPECT_EQ(counts->queued, urls_of(bucket, host));
        }
      }
    }
    // Leases may be forgotten in the middle of counts(), which may read the store.
    if (shard_.leased_in({.first = 0, .last = ~HostId{0}}) == all) {
      EXPECT_EQ(shard_.leased(), all);
      EXPECT_EQ(shard_.stats().leased, all);
    }
  }
  std::uint64_t urls_of(std::size_t bucket, std::size_t host) const {
    std::uint64_t urls = 0;
    for (const auto& [id, url] : urls_)
      urls += id.first == bucket && url.host == host ? 1 : 0;
    return urls;
  }

  void drain() {
    in_parts_.away.clear();
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
      buckets_[bucket].stopped = false;
      take(bucket);
    }
    for (int round = 0; round < 5000 && !::testing::Test::HasFailure(); ++round) {
      now_ += milliseconds(1000);
      lease(1'000'000);
      while (const auto number = some_lease(LeaseState::kOpen))
        complete(*number, true);
      commit(ending_.size());
      for (std::size_t bucket = 0; bucket < kBuckets; ++bucket)
        take(bucket);
      if (urls_.empty() && shard_.stats().hosts == 0) break;
    }
    EXPECT_TRUE(urls_.empty()) << urls_.size() << " were lost";
    const ShardStats stats = shard_.stats();
    EXPECT_EQ(stats.hosts, 0u);
    EXPECT_EQ(stats.leased, 0u);
    EXPECT_EQ(stats.leasable, 0u);
    EXPECT_EQ(stats.waiting, 0u);
    EXPECT_EQ(stats.leased_hosts, 0u);
    EXPECT_EQ(quota_.take(2 * kQuota), kQuota);
  }

  struct Changed {
    std::size_t bucket;
    std::size_t host;
    std::uint64_t times_taken;
    std::uint64_t number;
  };

  std::mt19937_64 random_;
  SteadyTime now_ = SteadyTime{} + std::chrono::hours(1);
  test::FakeStore store_;
  test::StoreInParts in_parts_{store_};
  Quota quota_{kQuota};
  GroupRateLimiter domains_{kDomainDelay};
  const std::uint32_t leases_per_host_;
  const milliseconds timeout_;
  const bool few_awake_;
  const bool has_domains_;
  std::array<ModelBucket, kBuckets> buckets_;
  std::map<UrlId, ModelUrl> urls_;
  std::map<std::uint64_t, ModelLease> leases_;
  std::deque<HostId> saving_;     // records not yet durable
  std::deque<UrlId> ending_;      // not yet passed to the shard
  std::vector<Changed> changed_;  // not yet in the store
  bool disturbed_ = false;        // a bucket was forgotten during a read
  HostShard shard_;
};

TEST(HostShardRangesRandom, P1_DoesWhatItsModelDoes) {
  const std::uint64_t seed = std::random_device{}();
  for (std::uint64_t run = 0; run < 40 && !::testing::Test::HasFailure(); ++run) {
    SCOPED_TRACE(testing::Message() << "seed " << seed + run);
    RangesRun(seed + run).run(1000);
  }
}

}  // namespace
}  // namespace trawl
