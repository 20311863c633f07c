// FrontierDecorator: wraps a frontier, to do something at every call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "trawl/frontier.h"

namespace trawl {

// Each call is passed to the wrapped frontier by `auto Derived::forward(call) const`, which calls
// `call()` one or more times and returns its result, or returns an error. Derived may override
// single calls. `Base`: what the decorator is, if that is more than a Frontier.
template <class Derived, class Base = Frontier>
class FrontierDecorator : public Base {
 public:
  Result<std::vector<Admission>> offer(std::span<const UrlRequest> requests,
                                       OfferWait wait) override {
    return derived().forward([&] { return frontier_->offer(requests, wait); });
  }
  Result<std::vector<Lease>> lease(const LeaseRequest& request) override {
    return derived().forward([&] { return frontier_->lease(request); });
  }
  Result<std::vector<Admission>> complete(std::uint64_t lease_id, const Outcome& outcome,
                                          std::span<const UrlRequest> links) override {
    return derived().forward([&] { return frontier_->complete(lease_id, outcome, links); });
  }
  Result<FailureVerdict> fail(std::uint64_t lease_id, FailureReason reason,
                              std::optional<std::chrono::milliseconds> retry_after,
                              const Outcome& outcome) override {
    return derived().forward(
        [&] { return frontier_->fail(lease_id, reason, retry_after, outcome); });
  }
  Result<void> hold(std::uint64_t lease_id, const HoldReason& reason,
                    const Outcome& outcome) override {
    return derived().forward([&] { return frontier_->hold(lease_id, reason, outcome); });
  }
  Result<void> release(std::uint64_t lease_id, std::optional<SteadyTime> next_start,
                       std::optional<std::chrono::microseconds> started_after) override {
    return derived().forward(
        [&] { return frontier_->release(lease_id, next_start, started_after); });
  }
  Result<void> fetched(std::uint64_t lease_id, std::chrono::microseconds started_after) override {
    return derived().forward([&] { return frontier_->fetched(lease_id, started_after); });
  }
  Result<void> renew(std::uint64_t lease_id) override {
    return derived().forward([&] { return frontier_->renew(lease_id); });
  }
  Result<StartTurn> start(std::uint64_t lease_id, std::string_view address) override {
    return derived().forward([&] { return frontier_->start(lease_id, address); });
  }
  Result<StartTurn> start_elsewhere(std::string_view host, std::string_view address) override {
    return derived().forward([&] { return frontier_->start_elsewhere(host, address); });
  }
  Result<void> sent(const StartTurn& turn, std::optional<SteadyTime> when,
                    std::string_view address) override {
    return derived().forward([&] { return frontier_->sent(turn, when, address); });
  }
  Result<void> set_host(std::string_view host, const HostSettings& settings) override {
    return derived().forward([&] { return frontier_->set_host(host, settings); });
  }
  Result<HostInfo> host(std::string_view name) const override {
    return derived().forward([&] { return frontier_->host(name); });
  }
  Result<std::vector<HostInfo>> hosts(std::string_view after, std::size_t limit) const override {
    return derived().forward([&] { return frontier_->hosts(after, limit); });
  }
  Result<std::vector<HostCounts>> busiest_hosts(HostOrder order, std::size_t limit) const override {
    return derived().forward([&] { return frontier_->busiest_hosts(order, limit); });
  }
  Result<HostCounts> host_counts(std::string_view name) const override {
    return derived().forward([&] { return frontier_->host_counts(name); });
  }
  Result<void> set_politeness(const PolitenessOptions& politeness,
                              const RetryOptions& retry) override {
    return derived().forward([&] { return frontier_->set_politeness(politeness, retry); });
  }
  Result<std::uint64_t> drop_host(std::string_view host) override {
    return derived().forward([&] { return frontier_->drop_host(host); });
  }
  Result<void> visit_queue(std::string_view host,
                           const std::function<bool(std::string_view url)>& visit) const override {
    return derived().forward([&] { return frontier_->visit_queue(host, visit); });
  }
  Result<std::vector<SetAsideUrl>> set_aside(std::string_view after,
                                             std::size_t limit) const override {
    return derived().forward([&] { return frontier_->set_aside(after, limit); });
  }
  Result<std::uint64_t> retry(const RetryWhich& which) override {
    return derived().forward([&] { return frontier_->retry(which); });
  }
  Result<bool> has_room_to_set_aside() const override {
    return derived().forward([&] { return frontier_->has_room_to_set_aside(); });
  }
  Result<UrlState> lookup(std::string_view url_or_key) override {
    return derived().forward([&] { return frontier_->lookup(url_or_key); });
  }
  Result<Progress> progress() const override {
    return derived().forward([&] { return frontier_->progress(); });
  }
  Result<FrontierStats> stats() const override {
    return derived().forward([&] { return frontier_->stats(); });
  }
  Result<void> flush() override {
    return derived().forward([&] { return frontier_->flush(); });
  }
  Result<void> checkpoint() override {
    return derived().forward([&] { return frontier_->checkpoint(); });
  }
  Result<void> request_checkpoint() override {
    return derived().forward([&] { return frontier_->request_checkpoint(); });
  }
  Result<void> close() override {
    return derived().forward([&] { return frontier_->close(); });
  }
  Result<void> on_wake(std::function<void()> callback,
                       std::optional<std::uint32_t> shard) override {
    return derived().forward([&] { return frontier_->on_wake(callback, shard); });
  }
  Result<std::optional<SteadyTime>> next_due(std::optional<std::uint32_t> shard) const override {
    return derived().forward([&] { return frontier_->next_due(shard); });
  }

 protected:
  explicit FrontierDecorator(std::unique_ptr<Frontier> frontier) : frontier_(std::move(frontier)) {}

  Frontier& inner() const { return *frontier_; }

 private:
  const Derived& derived() const { return static_cast<const Derived&>(*this); }

  const std::unique_ptr<Frontier> frontier_;
};

}  // namespace trawl
