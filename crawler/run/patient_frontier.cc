#include "crawler/run/patient_frontier.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <spdlog/spdlog.h>

namespace trawl {

namespace {

constexpr std::chrono::milliseconds kFirstWait{10};
constexpr std::chrono::milliseconds kLongestWait{500};

template <class T>
bool is_out_of_reach(const Result<T>& result) {
  return !result && result.error().code == ErrorCode::kUnavailable;
}

}  // namespace

void PatientFrontier::note(const Error& error) const {
  if (!out_of_reach_.exchange(true, std::memory_order_relaxed))
    spdlog::warn("{}; the crawl waits for it", error.message);
}

void PatientFrontier::note_reached() const {
  if (out_of_reach_.load(std::memory_order_relaxed) &&
      out_of_reach_.exchange(false, std::memory_order_relaxed))
    spdlog::info("the frontier can be reached again");
}

template <class Call>
auto PatientFrontier::patiently(Call&& call) const {
  for (auto wait = kFirstWait;; wait = std::min(2 * wait, kLongestWait)) {
    auto result = call();
    if (!is_out_of_reach(result)) {
      note_reached();
      return result;
    }
    note(result.error());
    if (gives_up_()) return result;
    std::this_thread::sleep_for(wait);
  }
}

Result<std::vector<Lease>> PatientFrontier::lease(const LeaseRequest& request) {
  auto leases = frontier_->lease(request);
  if (!is_out_of_reach(leases)) return leases;
  note(leases.error());
  return std::vector<Lease>();
}

Result<std::optional<SteadyTime>> PatientFrontier::next_due(
    std::optional<std::uint32_t> shard) const {
  auto due = frontier_->next_due(shard);
  if (!is_out_of_reach(due)) return due;
  return std::chrono::steady_clock::now() + kLongestWait;
}

Result<Progress> PatientFrontier::progress() const {
  auto progress = frontier_->progress();
  return is_out_of_reach(progress) ? Result<Progress>(Progress{}) : progress;
}

Result<std::vector<Admission>> PatientFrontier::offer(std::span<const UrlRequest> requests,
                                                      OfferWait wait) {
  return patiently([&] { return frontier_->offer(requests, wait); });
}

Result<std::vector<Admission>> PatientFrontier::complete(std::uint64_t lease_id,
                                                         const Outcome& outcome,
                                                         std::span<const UrlRequest> links) {
  return patiently([&] { return frontier_->complete(lease_id, outcome, links); });
}

Result<FailureVerdict> PatientFrontier::fail(std::uint64_t lease_id, FailureReason reason,
                                             std::optional<std::chrono::milliseconds> retry_after,
                                             const Outcome& outcome) {
  return patiently([&] { return frontier_->fail(lease_id, reason, retry_after, outcome); });
}

Result<void> PatientFrontier::hold(std::uint64_t lease_id, const HoldReason& reason,
                                   const Outcome& outcome) {
  return patiently([&] { return frontier_->hold(lease_id, reason, outcome); });
}

Result<void> PatientFrontier::release(std::uint64_t lease_id, std::optional<SteadyTime> next_start,
                                      std::optional<std::chrono::microseconds> started_after) {
  return patiently([&] { return frontier_->release(lease_id, next_start, started_after); });
}

Result<void> PatientFrontier::renew(std::uint64_t lease_id) {
  return patiently([&] { return frontier_->renew(lease_id); });
}

Result<StartTurn> PatientFrontier::start(std::uint64_t lease_id, std::string_view address) {
  return patiently([&] { return frontier_->start(lease_id, address); });
}

Result<StartTurn> PatientFrontier::start_elsewhere(std::string_view host,
                                                   std::string_view address) {
  return patiently([&] { return frontier_->start_elsewhere(host, address); });
}

Result<void> PatientFrontier::sent(const StartTurn& turn, std::optional<SteadyTime> when,
                                   std::string_view address) {
  return patiently([&] { return frontier_->sent(turn, when, address); });
}

Result<void> PatientFrontier::set_host(std::string_view host, const HostSettings& settings) {
  return patiently([&] { return frontier_->set_host(host, settings); });
}

Result<HostInfo> PatientFrontier::host(std::string_view name) const {
  return patiently([&] { return frontier_->host(name); });
}

Result<std::vector<HostInfo>> PatientFrontier::hosts(std::string_view after,
                                                     std::size_t limit) const {
  return patiently([&] { return frontier_->hosts(after, limit); });
}

Result<std::uint64_t> PatientFrontier::drop_host(std::string_view host) {
  return patiently([&] { return frontier_->drop_host(host); });
}

Result<void> PatientFrontier::visit_queue(
    std::string_view host, const std::function<bool(std::string_view url)>& visit) const {
  return patiently([&] { return frontier_->visit_queue(host, visit); });
}

Result<std::vector<SetAsideUrl>> PatientFrontier::set_aside(std::string_view after,
                                                            std::size_t limit) const {
  return patiently([&] { return frontier_->set_aside(after, limit); });
}

Result<std::uint64_t> PatientFrontier::retry(const RetryWhich& which) {
  return patiently([&] { return frontier_->retry(which); });
}

Result<bool> PatientFrontier::has_room_to_set_aside() const {
  return patiently([&] { return frontier_->has_room_to_set_aside(); });
}

Result<UrlState> PatientFrontier::lookup(std::string_view url_or_key) {
  return patiently([&] { return frontier_->lookup(url_or_key); });
}

Result<FrontierStats> PatientFrontier::stats() const {
  return patiently([&] { return frontier_->stats(); });
}

Result<void> PatientFrontier::flush() {
  return patiently([&] { return frontier_->flush(); });
}

Result<void> PatientFrontier::checkpoint() {
  return patiently([&] { return frontier_->checkpoint(); });
}

Result<void> PatientFrontier::request_checkpoint() {
  return patiently([&] { return frontier_->request_checkpoint(); });
}

Result<void> PatientFrontier::close() {
  return patiently([&] { return frontier_->close(); });
}

Result<void> PatientFrontier::on_wake(std::function<void()> callback,
                                      std::optional<std::uint32_t> shard) {
  return frontier_->on_wake(std::move(callback), shard);
}

}  // namespace trawl
