#include <utility>

#include "base/mutex.h"
#include "frontier/schedule/host_shard.h"
#include "frontier/schedule/shard_state.h"

namespace trawl {

namespace {

// Of what is admitted and ended; so many items take less than a megabyte.
constexpr std::size_t kLongInbox = 4096;

}  // namespace

struct HostShard::State {
  State(const Store& store, ShardOptions options) : shard(store, std::move(options), inbox) {}

  // Passes what is asked on.
  template <class Call>
  auto locked(Call call) {
    const MutexLock lock(mutex);
    const Settling settling{shard};
    return call(shard);
  }
  struct Settling {
    ShardState& shard;
    ~Settling() { shard.settle_leases(); }
  };

  ShardInbox inbox;  // thread-safe by itself
  Mutex mutex;
  ShardState shard TRAWL_GUARDED_BY(mutex);
};

HostShard::HostShard(const Store& store, ShardOptions options)
    : state_(std::make_unique<State>(store, std::move(options))) {}
HostShard::~HostShard() = default;

void HostShard::push_admitted(QueuedUrl url) {
  state_->inbox.enqueue(std::move(url));
}
void HostShard::push_ended(std::uint64_t sequence) {
  state_->inbox.enqueue(sequence);
}
void HostShard::take_inbox() {
  state_->locked([](ShardState& shard) { shard.take_inbox(); });
}

void HostShard::relieve_inbox() {
  if (state_->inbox.size_approx() >= kLongInbox) take_inbox();
}

void HostShard::count_ended_leases() {
  state_->locked([](ShardState& shard) {
    if (!shard.closed()) shard.count_ended_leases();
  });
}

std::optional<HostRecord> HostShard::record_of(HostId host, std::uint64_t change) {
  return state_->locked([&](ShardState& shard) { return shard.record_of(host, change); });
}

void HostShard::restore_host(HostId host, const std::optional<HostRecord>& record,
                             const QueueBeginning& queue) {
  state_->locked([&](ShardState& shard) { shard.restore_host(host, record, queue); });
}

Result<void> HostShard::lease(std::size_t max, std::vector<NumberedLease>& out) {
  return state_->locked([&](ShardState& shard) { return shard.lease(max, out); });
}

std::optional<SteadyTime> HostShard::next_expiry() const {
  return state_->locked([](ShardState& shard) { return shard.next_expiry(); });
}

bool HostShard::has_turn() {
  return state_->locked([](ShardState& shard) { return shard.has_turn(); });
}

std::optional<SteadyTime> HostShard::next_due() const {
  return state_->locked([](ShardState& shard) { return shard.next_due(); });
}

void HostShard::close() {
  state_->locked([](ShardState& shard) { shard.close(); });
}

Result<EndedLease> HostShard::begin_completion(std::uint64_t lease, const Outcome& outcome) {
  return state_->locked([&](ShardState& shard) { return shard.begin_completion(lease, outcome); });
}

Result<HostFailure> HostShard::begin_failure(std::uint64_t lease, FailureReason reason,
                                             std::optional<std::chrono::milliseconds> retry_after,
                                             const Outcome& outcome) {
  return state_->locked(
      [&](ShardState& shard) { return shard.begin_failure(lease, reason, retry_after, outcome); });
}

Result<void> HostShard::renew(std::uint64_t lease) {
  return state_->locked([&](ShardState& shard) { return shard.renew(lease); });
}

Result<void> HostShard::release(std::uint64_t lease, std::optional<SteadyTime> next_start,
                                std::optional<std::chrono::microseconds> started_after) {
  return state_->locked(
      [&](ShardState& shard) { return shard.release(lease, next_start, started_after); });
}

Result<StartTurn> HostShard::start(std::uint64_t lease, std::string_view address) {
  return state_->locked([&](ShardState& shard) { return shard.start(lease, address); });
}

Result<StartTurn> HostShard::start_elsewhere(HostId host, std::string_view name,
                                             std::string_view address) {
  return state_->locked(
      [&](ShardState& shard) { return shard.start_elsewhere(host, name, address); });
}

void HostShard::sent(const StartTurn& turn, std::optional<SteadyTime> when,
                     std::string_view address) {
  state_->locked([&](ShardState& shard) { shard.sent(turn, when, address); });
}

Result<std::uint64_t> HostShard::change_host(HostId host, std::string_view name,
                                             const RecordChange& change) {
  return state_->locked([&](ShardState& shard) { return shard.change_host(host, name, change); });
}

Result<bool> HostShard::revive_if_given_up(HostId host) {
  return state_->locked([&](ShardState& shard) { return shard.revive_if_given_up(host); });
}

void HostShard::set_address(HostId host, std::string_view address) {
  state_->locked([&](ShardState& shard) { shard.set_address(host, address); });
}

void HostShard::begin_drop(HostId host) {
  state_->locked([&](ShardState& shard) { shard.begin_drop(host); });
}
std::size_t HostShard::leased() const {
  return state_->locked([](ShardState& shard) { return shard.leased(); });
}

bool HostShard::has_lease(std::uint64_t sequence) const {
  return state_->locked([&](ShardState& shard) { return shard.has_lease(sequence); });
}

bool HostShard::is_leased(std::uint64_t sequence) const {
  return state_->locked([&](ShardState& shard) { return shard.is_leased(sequence); });
}
void HostShard::end_drop(HostId host) {
  state_->locked([&](ShardState& shard) { shard.end_drop(host); });
}

std::optional<HostInfo> HostShard::info(HostId host) const {
  return state_->locked([&](ShardState& shard) {
    shard.take_inbox();
    return shard.info(host);
  });
}

bool HostShard::exhausted() const {
  return state_->locked([](ShardState& shard) {
    shard.take_inbox();
    return shard.exhausted();
  });
}

ShardStats HostShard::stats() {
  return state_->locked([](ShardState& shard) { return shard.stats(); });
}

}  // namespace trawl
