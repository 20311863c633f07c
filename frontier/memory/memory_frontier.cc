// Every call of MemoryFrontier takes one mutex and runs on MemoryState; there is no concurrency
// inside.
#include "trawl/memory_frontier.h"

#include <type_traits>
#include <utility>

#include "base/mutex.h"
#include "frontier/common/option_checks.h"
#include "frontier/common/wake_notifier.h"
#include "frontier/memory/memory_state.h"

namespace trawl {

namespace {

// Runs one call at a time.
class MemoryFrontierImpl final : public Frontier {
 public:
  MemoryFrontierImpl(const MemoryOptions& options, bool real_clock)
      : now_(options.clock), real_clock_(real_clock), state_(options) {}

  ~MemoryFrontierImpl() override { wake_timer_.reset(); }

  Result<std::vector<Admission>> offer(std::span<const UrlRequest> requests, OfferWait) override {
    return changing([&](MemoryState& state) -> Result<std::vector<Admission>> {
      return state.offer(requests);
    });
  }
  Result<std::vector<Lease>> lease(const LeaseRequest& request) override {
    if (auto valid = check_shard(request.shard); !valid) return tl::unexpected(valid.error());
    return lease_and_wait(wakes_, request,
                          {.lease_now = [&] { return lease_now(request.max); },
                           .progress = [this] { return progress(); },
                           .next_due =
                               [this] {
                                 const MutexLock lock(mutex_);
                                 return state_.next_due();
                               },
                           .now = now_,
                           .real_clock = real_clock_});
  }
  Result<std::vector<Admission>> complete(std::uint64_t lease_id, const Outcome& outcome,
                                          std::span<const UrlRequest> links) override {
    return changing([&](MemoryState& state) { return state.complete(lease_id, outcome, links); });
  }
  Result<FailureVerdict> fail(std::uint64_t lease_id, FailureReason reason,
                              std::optional<std::chrono::milliseconds> retry_after,
                              const Outcome& outcome) override {
    return changing(
        [&](MemoryState& state) { return state.fail(lease_id, reason, retry_after, outcome); });
  }
  Result<void> hold(std::uint64_t lease_id, const HoldReason& reason,
                    const Outcome& outcome) override {
    if (auto valid = check_reason(reason); !valid) return valid;
    Outcome unasked = outcome;
    unasked.requested = false;
    return changing([&](MemoryState& state) -> Result<void> {
      const auto held = state.complete(lease_id, unasked, {}, &reason);
      return held ? Result<void>{} : tl::unexpected(held.error());
    });
  }
  Result<void> release(std::uint64_t lease_id, std::optional<SteadyTime> next_start,
                       std::optional<std::chrono::microseconds> started_after) override {
    return changing(
        [&](MemoryState& state) { return state.release(lease_id, next_start, started_after); });
  }
  Result<void> fetched(std::uint64_t lease_id, std::chrono::microseconds started_after) override {
    const auto leasable =
        locked([&](MemoryState& state) { return state.fetched(lease_id, started_after); });
    if (!leasable) return tl::unexpected(leasable.error());
    if (*leasable) wakes_.announce(0);
    return {};
  }
  Result<void> renew(std::uint64_t lease_id) override {
    return locked([&](MemoryState& state) { return state.renew(lease_id); });
  }

  Result<StartTurn> start(std::uint64_t lease_id, std::string_view address) override {
    return locked([&](MemoryState& state) { return state.start(lease_id, address); });
  }
  Result<StartTurn> start_elsewhere(std::string_view host, std::string_view address) override {
    return locked([&](MemoryState& state) { return state.start_elsewhere(host, address); });
  }
  Result<void> sent(const StartTurn& turn, std::optional<SteadyTime> when,
                    std::string_view address) override {
    return locked([&](MemoryState& state) {
      state.sent(turn, when, address);
      return Result<void>();
    });
  }

  Result<void> set_host(std::string_view host, const HostSettings& settings) override {
    return changing([&](MemoryState& state) { return state.set_host(host, settings); });
  }
  Result<HostInfo> host(std::string_view name) const override {
    return locked([&](MemoryState& state) { return state.host(name); });
  }
  Result<std::vector<HostInfo>> hosts(std::string_view after, std::size_t limit) const override {
    return locked([&](MemoryState& state) -> Result<std::vector<HostInfo>> {
      return state.hosts(after, limit);
    });
  }
  Result<std::vector<HostCounts>> busiest_hosts(HostOrder order, std::size_t limit) const override {
    return locked([&](MemoryState& state) -> Result<std::vector<HostCounts>> {
      return state.busiest_hosts(order, limit);
    });
  }
  Result<HostCounts> host_counts(std::string_view name) const override {
    return locked([&](MemoryState& state) { return state.host_counts(name); });
  }
  Result<void> set_politeness(const PolitenessOptions& politeness,
                              const RetryOptions& retry) override {
    return changing([&](MemoryState& state) { return state.set_politeness(politeness, retry); });
  }
  Result<std::uint64_t> drop_host(std::string_view host) override {
    return changing([&](MemoryState& state) { return state.drop_host(host); });
  }
  Result<void> visit_queue(std::string_view host,
                           const std::function<bool(std::string_view url)>& visit) const override {
    return locked([&](MemoryState& state) {
      state.visit_queue(host, visit);
      return Result<void>();
    });
  }

  Result<std::vector<SetAsideUrl>> set_aside(std::string_view after,
                                             std::size_t limit) const override {
    return locked([&](MemoryState& state) -> Result<std::vector<SetAsideUrl>> {
      return state.set_aside(after, limit);
    });
  }
  Result<std::uint64_t> retry(const RetryWhich& which) override {
    return changing(
        [&](MemoryState& state) -> Result<std::uint64_t> { return state.retry(which); });
  }
  Result<bool> has_room_to_set_aside() const override {
    return locked([](MemoryState&) -> Result<bool> { return true; });
  }

  Result<UrlState> lookup(std::string_view url_or_key) override {
    return locked([&](MemoryState& state) -> Result<UrlState> { return state.lookup(url_or_key); });
  }
  // These two also work on a closed frontier.
  Result<Progress> progress() const override {
    const MutexLock lock(mutex_);
    return state_.progress();
  }
  Result<FrontierStats> stats() const override {
    const MutexLock lock(mutex_);
    return state_.stats();
  }

  Result<void> flush() override {
    return locked([](MemoryState&) { return Result<void>(); });
  }
  Result<void> checkpoint() override { return flush(); }
  Result<void> request_checkpoint() override { return flush(); }
  Result<void> close() override {
    {
      const MutexLock lock(mutex_);
      is_closed_ = true;
    }
    {
      const MutexLock lock(waking_);
      wake_timer_.reset();
    }
    wakes_.wake_waiters();
    return {};
  }

  Result<void> on_wake(std::function<void()> callback,
                       std::optional<std::uint32_t> shard) override {
    if (auto valid = check_shard(shard); !valid) return valid;
    if (auto open = flush(); !open) return open;
    const MutexLock lock(waking_);
    const bool needs_timer = callback && !shard;
    wakes_.set(std::move(callback), shard);
    if (needs_timer && !wake_timer_) {
      const auto next_due = [this] {
        const MutexLock state_lock(mutex_);
        return state_.next_due();
      };
      wake_timer_.emplace(wakes_, next_due, now_, real_clock_);
    }
    return {};
  }
  Result<std::optional<SteadyTime>> next_due(std::optional<std::uint32_t> shard) const override {
    if (auto valid = check_shard(shard); !valid) return tl::unexpected(valid.error());
    return locked(
        [&](MemoryState& state) -> Result<std::optional<SteadyTime>> { return state.next_due(); });
  }

 private:
  template <class Call>
  std::invoke_result_t<Call, MemoryState&> locked(Call&& call) const {
    const MutexLock lock(mutex_);
    if (is_closed_) return error(ErrorCode::kClosed, "the frontier is closed");
    return call(state_);
  }
  // Runs a call after which more URLs may be leasable.
  template <class Call>
  std::invoke_result_t<Call, MemoryState&> changing(Call&& call) {
    auto result = locked(std::forward<Call>(call));
    wakes_.announce(0);
    return result;
  }

  Result<std::vector<Lease>> lease_now(std::size_t max) {
    auto leases =
        locked([&](MemoryState& state) -> Result<std::vector<Lease>> { return state.lease(max); });
    // The next due time has changed.
    if (leases && !leases->empty()) wakes_.wake_waiters();
    return leases;
  }

  static Result<void> check_shard(std::optional<std::uint32_t> shard) {
    if (shard.value_or(0) == 0) return {};
    return error(ErrorCode::kInvalidArgument,
                 "a memory frontier has one shard, number 0: leave LeaseRequest::shard empty");
  }
  static Result<void> check_reason(const HoldReason& reason) {
    if (!reason.reason.empty()) return {};
    return error(ErrorCode::kInvalidArgument,
                 "hold() needs a reason: a word by which retry() can select the URL");
  }

  const std::function<SteadyTime()> now_;
  const bool real_clock_;
  mutable Mutex mutex_;
  mutable MemoryState state_ TRAWL_GUARDED_BY(mutex_);
  bool is_closed_ TRAWL_GUARDED_BY(mutex_) = false;
  WakeNotifier wakes_{1};
  Mutex waking_;
  std::optional<WakeTimer> wake_timer_ TRAWL_GUARDED_BY(waking_);
};

}  // namespace

Result<std::unique_ptr<Frontier>> MemoryFrontier::create(const MemoryOptions& given) {
  auto valid = check_options(given.politeness, given.retry, given.limits, given.profile);
  if (!valid) return tl::unexpected(valid.error());
  MemoryOptions options = given;
  if (!options.clock) options.clock = [] { return std::chrono::steady_clock::now(); };
  if (!options.wall_clock) options.wall_clock = [] { return std::chrono::system_clock::now(); };
  return std::make_unique<MemoryFrontierImpl>(options, !given.clock);
}

}  // namespace trawl
