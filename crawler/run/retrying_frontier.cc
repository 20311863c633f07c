#include "crawler/run/retrying_frontier.h"

#include "crawler/log/room_log.h"

namespace trawl {

void RetryingFrontier::note(const Error& error) const {
  if (!out_of_reach_.exchange(true, std::memory_order_relaxed))
    room_log(LogRoom::kFrontier)
        .warn("{}; the crawl waits until the frontier is reachable", error.message);
}

void RetryingFrontier::note_reached() const {
  if (out_of_reach_.load(std::memory_order_relaxed) &&
      out_of_reach_.exchange(false, std::memory_order_relaxed))
    room_log(LogRoom::kFrontier).info("the frontier is reachable again");
}

Result<std::vector<Lease>> RetryingFrontier::lease(const LeaseRequest& request) {
  auto leases = inner().lease(request);
  if (!is_out_of_reach(leases)) return leases;
  note(leases.error());
  return std::vector<Lease>();
}

Result<Progress> RetryingFrontier::progress() const {
  auto progress = inner().progress();
  return is_out_of_reach(progress) ? Result<Progress>(Progress{}) : progress;
}

Result<std::optional<SteadyTime>> RetryingFrontier::next_due(
    std::optional<std::uint32_t> shard) const {
  auto due = inner().next_due(shard);
  if (!is_out_of_reach(due)) return due;
  return std::chrono::steady_clock::now() + kLongestWait;
}

}  // namespace trawl
