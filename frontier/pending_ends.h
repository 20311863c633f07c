// PendingEnds: leases whose requests have ended and which wait for their second complete().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"
#include "frontier/commit/operation.h"

namespace trawl {

// The changes of a lease that ends later: see Outcome::end_later.
struct PendingEnd {
  Operation::Ended ended;
  std::optional<std::uint64_t> host_change;  // Operation::ChangedHost
  std::uint32_t openings = 0;                // Operation::openings
  std::uint64_t known_links = 0;             // Outcome::known_links, not counted yet
};

// Thread-safe.
class PendingEnds {
 public:
  void add(std::uint64_t lease_id, PendingEnd end) {
    const MutexLock lock(mutex_);
    ends_.insert_or_assign(lease_id, std::move(end));
  }
  std::optional<PendingEnd> take(std::uint64_t lease_id) {
    const MutexLock lock(mutex_);
    const auto found = ends_.extract(lease_id);
    return found ? std::optional(std::move(found.mapped())) : std::nullopt;
  }
  std::optional<std::string> url_of(std::uint64_t lease_id) const {
    const MutexLock lock(mutex_);
    const auto found = ends_.find(lease_id);
    return found == ends_.end() ? std::nullopt : std::optional(found->second.ended.lease.url);
  }

 private:
  mutable Mutex mutex_;
  std::unordered_map<std::uint64_t, PendingEnd> ends_ TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
