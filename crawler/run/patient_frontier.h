// PatientFrontier: a frontier whose errors are those that end a crawl.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "trawl/frontier.h"

namespace trawl {

// What is out of reach for now (kUnavailable) is tried again, with growing waits, until it is there
// or the caller gives up: the calling thread waits meanwhile, as there is nothing else it could do.
// Only lease() says at once that there is nothing, and progress() that it is not over.
class PatientFrontier final : public Frontier {
 public:
  // `gives_up`: a call that waits is to return the error.
  PatientFrontier(std::unique_ptr<Frontier> frontier, std::function<bool()> gives_up)
      : frontier_(std::move(frontier)), gives_up_(std::move(gives_up)) {}

  Result<std::vector<Admission>> offer(std::span<const UrlRequest> requests,
                                       OfferWait wait) override;
  Result<std::vector<Lease>> lease(const LeaseRequest& request) override;
  Result<std::vector<Admission>> complete(std::uint64_t lease_id, const Outcome& outcome,
                                          std::span<const UrlRequest> links) override;
  Result<FailureVerdict> fail(std::uint64_t lease_id, FailureReason reason,
                              std::optional<std::chrono::milliseconds> retry_after,
                              const Outcome& outcome) override;
  Result<void> hold(std::uint64_t lease_id, const HoldReason& reason,
                    const Outcome& outcome) override;
  Result<void> release(std::uint64_t lease_id, std::optional<SteadyTime> next_start,
                       std::optional<std::chrono::microseconds> started_after) override;
  Result<void> renew(std::uint64_t lease_id) override;
  Result<StartTurn> start(std::uint64_t lease_id, std::string_view address) override;
  Result<StartTurn> start_elsewhere(std::string_view host, std::string_view address) override;
  Result<void> sent(const StartTurn& turn, std::optional<SteadyTime> when,
                    std::string_view address) override;
  Result<void> set_host(std::string_view host, const HostSettings& settings) override;
  Result<HostInfo> host(std::string_view name) const override;
  Result<std::vector<HostInfo>> hosts(std::string_view after, std::size_t limit) const override;
  Result<std::uint64_t> drop_host(std::string_view host) override;
  Result<void> visit_queue(std::string_view host,
                           const std::function<bool(std::string_view url)>& visit) const override;
  Result<std::vector<SetAsideUrl>> set_aside(std::string_view after,
                                             std::size_t limit) const override;
  Result<std::uint64_t> retry(const RetryWhich& which) override;
  Result<bool> has_room_to_set_aside() const override;
  Result<UrlState> lookup(std::string_view url_or_key) override;
  Result<Progress> progress() const override;
  Result<FrontierStats> stats() const override;
  Result<void> flush() override;
  Result<void> checkpoint() override;
  Result<void> request_checkpoint() override;
  Result<void> close() override;
  Result<void> on_wake(std::function<void()> callback, std::optional<std::uint32_t> shard) override;
  Result<std::optional<SteadyTime>> next_due(std::optional<std::uint32_t> shard) const override;

 private:
  template <class Call>
  auto patiently(Call&& call) const;
  // It is said once, and once that it is over.
  void note(const Error& error) const;
  void note_reached() const;

  const std::unique_ptr<Frontier> frontier_;
  const std::function<bool()> gives_up_;
  mutable std::atomic<bool> out_of_reach_{false};
};

}  // namespace trawl
