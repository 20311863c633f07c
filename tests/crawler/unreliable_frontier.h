// UnreliableFrontier: a frontier that is out of reach at every third call.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "trawl/frontier.h"

namespace trawl::test {

class UnreliableFrontier final : public Frontier {
 public:
  explicit UnreliableFrontier(std::unique_ptr<Frontier> frontier)
      : frontier_(std::move(frontier)) {}

  std::atomic<bool> gone{false};         // at every call
  mutable std::atomic<int> refused = 0;  // so many were

  Result<std::vector<Admission>> offer(std::span<const UrlRequest> requests,
                                       OfferWait wait) override {
    if (is_gone()) return unavailable();
    return frontier_->offer(requests, wait);
  }
  Result<std::vector<Lease>> lease(const LeaseRequest& request) override {
    if (is_gone()) return unavailable();
    return frontier_->lease(request);
  }
  Result<std::vector<Admission>> complete(std::uint64_t lease_id, const Outcome& outcome,
                                          std::span<const UrlRequest> links) override {
    if (is_gone()) return unavailable();
    return frontier_->complete(lease_id, outcome, links);
  }
  Result<FailureVerdict> fail(std::uint64_t lease_id, FailureReason reason,
                              std::optional<std::chrono::milliseconds> retry_after,
                              const Outcome& outcome) override {
    if (is_gone()) return unavailable();
    return frontier_->fail(lease_id, reason, retry_after, outcome);
  }
  Result<void> hold(std::uint64_t lease_id, const HoldReason& reason,
                    const Outcome& outcome) override {
    if (is_gone()) return unavailable();
    return frontier_->hold(lease_id, reason, outcome);
  }
  Result<void> release(std::uint64_t lease_id, std::optional<SteadyTime> next_start,
                       std::optional<std::chrono::microseconds> started_after) override {
    if (is_gone()) return unavailable();
    return frontier_->release(lease_id, next_start, started_after);
  }
  Result<void> renew(std::uint64_t lease_id) override {
    if (is_gone()) return unavailable();
    return frontier_->renew(lease_id);
  }
  Result<StartTurn> start(std::uint64_t lease_id, std::string_view address) override {
    if (is_gone()) return unavailable();
    return frontier_->start(lease_id, address);
  }
  Result<StartTurn> start_elsewhere(std::string_view host, std::string_view address) override {
    if (is_gone()) return unavailable();
    return frontier_->start_elsewhere(host, address);
  }
  Result<void> sent(const StartTurn& turn, std::optional<SteadyTime> when,
                    std::string_view address) override {
    if (is_gone()) return unavailable();
    return frontier_->sent(turn, when, address);
  }
  Result<void> set_host(std::string_view host, const HostSettings& settings) override {
    if (is_gone()) return unavailable();
    return frontier_->set_host(host, settings);
  }
  Result<HostInfo> host(std::string_view name) const override {
    if (is_gone()) return unavailable();
    return frontier_->host(name);
  }
  Result<std::vector<HostInfo>> hosts(std::string_view after, std::size_t limit) const override {
    if (is_gone()) return unavailable();
    return frontier_->hosts(after, limit);
  }
  Result<std::uint64_t> drop_host(std::string_view host) override {
    if (is_gone()) return unavailable();
    return frontier_->drop_host(host);
  }
  Result<void> visit_queue(std::string_view host,
                           const std::function<bool(std::string_view url)>& visit) const override {
    if (is_gone()) return unavailable();
    return frontier_->visit_queue(host, visit);
  }
  Result<std::vector<SetAsideUrl>> set_aside(std::string_view after,
                                             std::size_t limit) const override {
    if (is_gone()) return unavailable();
    return frontier_->set_aside(after, limit);
  }
  Result<std::uint64_t> retry(const RetryWhich& which) override {
    if (is_gone()) return unavailable();
    return frontier_->retry(which);
  }
  Result<bool> has_room_to_set_aside() const override {
    if (is_gone()) return unavailable();
    return frontier_->has_room_to_set_aside();
  }
  Result<UrlState> lookup(std::string_view url_or_key) override {
    if (is_gone()) return unavailable();
    return frontier_->lookup(url_or_key);
  }
  Result<Progress> progress() const override {
    if (is_gone()) return unavailable();
    return frontier_->progress();
  }
  Result<FrontierStats> stats() const override {
    if (is_gone()) return unavailable();
    return frontier_->stats();
  }
  Result<void> flush() override {
    if (is_gone()) return unavailable();
    return frontier_->flush();
  }
  Result<void> checkpoint() override {
    if (is_gone()) return unavailable();
    return frontier_->checkpoint();
  }
  Result<void> request_checkpoint() override {
    if (is_gone()) return unavailable();
    return frontier_->request_checkpoint();
  }
  Result<void> close() override {
    if (is_gone()) return unavailable();
    return frontier_->close();
  }
  Result<void> on_wake(std::function<void()> callback,
                       std::optional<std::uint32_t> shard) override {
    if (is_gone()) return unavailable();
    return frontier_->on_wake(callback, shard);
  }
  Result<std::optional<SteadyTime>> next_due(std::optional<std::uint32_t> shard) const override {
    if (is_gone()) return unavailable();
    return frontier_->next_due(shard);
  }

 private:
  bool is_gone() const { return gone || calls_.fetch_add(1) % 3 == 2; }
  tl::unexpected<Error> unavailable() const {
    ++refused;
    return error(ErrorCode::kUnavailable, "the frontier is out of reach");
  }

  const std::unique_ptr<Frontier> frontier_;
  mutable std::atomic<int> calls_ = 0;
};

}  // namespace trawl::test
