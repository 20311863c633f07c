#include "crawler/run/patient_frontier.h"

#include <spdlog/spdlog.h>

namespace trawl {

void PatientFrontier::note(const Error& error) const {
  if (!out_of_reach_.exchange(true, std::memory_order_relaxed))
    spdlog::warn("{}; the crawl waits until the frontier is reachable", error.message);
}

void PatientFrontier::note_reached() const {
  if (out_of_reach_.load(std::memory_order_relaxed) &&
      out_of_reach_.exchange(false, std::memory_order_relaxed))
    spdlog::info("the frontier is reachable again");
}

Result<std::vector<Lease>> PatientFrontier::lease(const LeaseRequest& request) {
  auto leases = within().lease(request);
  if (!is_out_of_reach(leases)) return leases;
  note(leases.error());
  return std::vector<Lease>();
}

Result<Progress> PatientFrontier::progress() const {
  auto progress = within().progress();
  return is_out_of_reach(progress) ? Result<Progress>(Progress{}) : progress;
}

Result<std::optional<SteadyTime>> PatientFrontier::next_due(
    std::optional<std::uint32_t> shard) const {
  auto due = within().next_due(shard);
  if (!is_out_of_reach(due)) return due;
  return std::chrono::steady_clock::now() + kLongestWait;
}

}  // namespace trawl
