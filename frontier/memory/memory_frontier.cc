#include "trawl/memory_frontier.h"

#include <mutex>
#include <type_traits>
#include <utility>

#include "frontier/common/option_checks.h"
#include "frontier/common/wake_calls.h"
#include "frontier/memory/memory_state.h"

namespace trawl {

namespace {

// One call after the other.
class MemoryFrontierImpl final : public Frontier {
 public:
  MemoryFrontierImpl(const MemoryOptions& options, bool real_clock)
      : now_(options.clock), real_clock_(real_clock), state_(options) {}

  ~MemoryFrontierImpl() override { wake_timer_.reset(); }

  Result<std::vector<Admission>> offer(std::span<const UrlRequest> requests, OfferWait) override {
    return changing([&]() -> Result<std::vector<Admission>> { return state_.offer(requests); });
  }
  Result<std::vector<Lease>> lease(const LeaseRequest& request) override {
    if (auto valid = check_shard(request.shard); !valid) return tl::unexpected(valid.error());
    return lease_and_wait(wakes_, request,
                          {.lease_now = [&] { return lease_now(request.max); },
                           .progress = [this] { return progress(); },
                           .next_due =
                               [this] {
                                 const std::lock_guard lock(mutex_);
                                 return state_.next_due();
                               },
                           .now = now_,
                           .real_clock = real_clock_});
  }
  Result<std::vector<Admission>> complete(std::uint64_t lease_id, const Outcome& outcome,
                                          std::span<const UrlRequest> links) override {
    return changing([&] { return state_.complete(lease_id, outcome, links); });
  }
  Result<FailureVerdict> fail(std::uint64_t lease_id, FailureReason reason,
                              std::optional<std::chrono::milliseconds> retry_after,
                              const Outcome& outcome) override {
    return changing([&] { return state_.fail(lease_id, reason, retry_after, outcome); });
  }
  Result<void> hold(std::uint64_t lease_id, const HoldReason& reason,
                    const Outcome& outcome) override {
    if (auto valid = check_reason(reason); !valid) return valid;
    Outcome unasked = outcome;
    unasked.requested = false;
    return changing([&]() -> Result<void> {
      const auto held = state_.complete(lease_id, unasked, {}, &reason);
      return held ? Result<void>{} : tl::unexpected(held.error());
    });
  }
  Result<void> release(std::uint64_t lease_id, std::optional<SteadyTime> next_start,
                       std::optional<std::chrono::microseconds> started_after) override {
    return changing([&] { return state_.release(lease_id, next_start, started_after); });
  }
  Result<void> renew(std::uint64_t lease_id) override {
    return locked([&] { return state_.renew(lease_id); });
  }

  Result<StartTurn> start(std::uint64_t lease_id, std::string_view address) override {
    return locked([&] { return state_.start(lease_id, address); });
  }
  Result<StartTurn> start_elsewhere(std::string_view host, std::string_view address) override {
    return locked([&] { return state_.start_elsewhere(host, address); });
  }
  Result<void> sent(const StartTurn& turn, std::optional<SteadyTime> when,
                    std::string_view address) override {
    return locked([&] {
      state_.sent(turn, when, address);
      return Result<void>();
    });
  }

  Result<void> set_host(std::string_view host, const HostSettings& settings) override {
    return changing([&] { return state_.set_host(host, settings); });
  }
  Result<HostInfo> host(std::string_view name) const override {
    return locked([&] { return state_.host(name); });
  }
  Result<std::vector<HostInfo>> hosts(std::string_view after, std::size_t limit) const override {
    return locked([&]() -> Result<std::vector<HostInfo>> { return state_.hosts(after, limit); });
  }
  Result<std::uint64_t> drop_host(std::string_view host) override {
    return changing([&] { return state_.drop_host(host); });
  }
  Result<void> visit_queue(std::string_view host,
                           const std::function<bool(std::string_view url)>& visit) const override {
    return locked([&] {
      state_.visit_queue(host, visit);
      return Result<void>();
    });
  }

  Result<std::vector<SetAsideUrl>> set_aside(std::string_view after,
                                             std::size_t limit) const override {
    return locked(
        [&]() -> Result<std::vector<SetAsideUrl>> { return state_.set_aside(after, limit); });
  }
  Result<std::uint64_t> retry(const RetryWhich& which) override {
    return changing([&]() -> Result<std::uint64_t> { return state_.retry(which); });
  }
  Result<bool> has_room_to_set_aside() const override {
    return locked([]() -> Result<bool> { return true; });
  }

  Result<UrlState> lookup(std::string_view url_or_key) override {
    return locked([&]() -> Result<UrlState> { return state_.lookup(url_or_key); });
  }
  // These two are told even when it is closed.
  Result<Progress> progress() const override {
    const std::lock_guard lock(mutex_);
    return state_.progress();
  }
  Result<FrontierStats> stats() const override {
    const std::lock_guard lock(mutex_);
    return state_.stats();
  }

  Result<void> flush() override {
    return locked([] { return Result<void>(); });
  }
  Result<void> checkpoint() override { return flush(); }
  Result<void> request_checkpoint() override { return flush(); }
  Result<void> close() override {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    {
      const std::lock_guard lock(waking_);
      wake_timer_.reset();
    }
    wakes_.poke();
    return {};
  }

  Result<void> on_wake(std::function<void()> callback,
                       std::optional<std::uint32_t> shard) override {
    if (auto valid = check_shard(shard); !valid) return valid;
    if (auto open = flush(); !open) return open;
    const std::lock_guard lock(waking_);
    const bool needs_timer = callback && !shard;
    wakes_.set(std::move(callback), shard);
    if (needs_timer && !wake_timer_) {
      const auto next_due = [this] {
        const std::lock_guard state_lock(mutex_);
        return state_.next_due();
      };
      wake_timer_.emplace(wakes_, next_due, now_, real_clock_);
    }
    return {};
  }
  Result<std::optional<SteadyTime>> next_due(std::optional<std::uint32_t> shard) const override {
    if (auto valid = check_shard(shard); !valid) return tl::unexpected(valid.error());
    return locked([&]() -> Result<std::optional<SteadyTime>> { return state_.next_due(); });
  }

 private:
  template <class Call>
  std::invoke_result_t<Call> locked(Call&& call) const {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return error(ErrorCode::kClosed, "the frontier is closed");
    return call();
  }
  // Something may be leased then that could not be before.
  template <class Call>
  std::invoke_result_t<Call> changing(Call&& call) {
    auto result = locked(std::forward<Call>(call));
    wakes_.announce(0);
    return result;
  }

  Result<std::vector<Lease>> lease_now(std::size_t max) {
    auto leases = locked([&]() -> Result<std::vector<Lease>> { return state_.lease(max); });
    // What is due next is something else now.
    if (leases && !leases->empty()) wakes_.poke();
    return leases;
  }

  static Result<void> check_shard(std::optional<std::uint32_t> shard) {
    if (shard.value_or(0) == 0) return {};
    return error(ErrorCode::kInvalidArgument, "there is one shard, with the number 0");
  }
  static Result<void> check_reason(const HoldReason& reason) {
    if (!reason.reason.empty()) return {};
    return error(ErrorCode::kInvalidArgument,
                 "a URL cannot be held without a reason: name one for retry() to find it by");
  }

  const std::function<SteadyTime()> now_;
  const bool real_clock_;
  mutable std::mutex mutex_;  // guards the next two
  mutable MemoryState state_;
  bool is_closed_ = false;
  WakeCalls wakes_{1};
  std::mutex waking_;  // guards wake_timer_
  std::optional<WakeTimer> wake_timer_;
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
