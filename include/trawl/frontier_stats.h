// What a frontier counts.
#pragma once

#include <cstdint>
#include <string>

#include "trawl/filter.h"

namespace trawl {

// Totals since the frontier was made, over all processes.
struct FrontierCounters {
  std::uint64_t admitted = 0;         // URLs ever told new
  std::uint64_t completed = 0;        // of these, done, the failed included; recrawls once more
  std::uint64_t failed = 0;           // completed with an error
  std::uint64_t skipped = 0;          // completed without a request, the held included
  std::uint64_t succeeded = 0;        // completed with a status of 2xx, or 304
  std::uint64_t seeds_succeeded = 0;  // of these, those with Outcome::seed
  std::uint64_t held = 0;             // set aside now, by state
  std::uint64_t set_aside_failed = 0;
  std::uint64_t requeued = 0;       // by retry(), of those that were queued before
  std::uint64_t not_set_aside = 0;  // for want of room: StorageOptions::max_set_aside
  // Offers told seen, and those told invalid, too long or with too long a note. Of offers that
  // admitted nothing the count is durable with the next write only.
  std::uint64_t seen = 0;
  std::uint64_t invalid = 0;
  std::uint64_t dropped = 0;            // by drop_host()
  std::uint64_t retried = 0;            // fetches that failed and were, or will be, tried again
  std::uint64_t recrawls = 0;           // completions that asked for a recrawl
  std::uint64_t deferred = 0;           // waiting for a time of their own: retries and recrawls
  std::uint64_t recrawls_deferred = 0;  // of these, recrawls, except those tried again
  // URLs that were offered with a smaller depth than they were admitted with before they were done.
  std::uint64_t depth_repairs = 0;
  std::uint64_t deepest = 0;     // the greatest depth ever admitted
  std::uint64_t readmitted = 0;  // of those admitted: UrlRequest::again, and admitted before

  // URLs that are queued, leased or deferred.
  std::uint64_t open() const noexcept {
    return admitted + recrawls + requeued - completed - dropped;
  }
  friend bool operator==(const FrontierCounters&, const FrontierCounters&) = default;
};

// How a frontier stands. What a frontier cannot count is 0.
struct FrontierStats : FrontierCounters {
  std::uint64_t queued = 0;  // waiting in a host queue, not leased
  std::uint64_t leased = 0;  // open leases, those whose completion is not yet durable included
  std::uint64_t hosts = 0;   // host queues in memory
  std::uint64_t hosts_blocked = 0;  // of these, blocked at the moment
  std::uint64_t hosts_parked = 0;   // of these
  std::uint64_t expired = 0;        // leases that expired, in this process; as the next two
  std::uint64_t late = 0;           // completions of expired leases that counted
  std::uint64_t repeated = 0;       // completions of leases that had ended
  std::uint64_t checkpoints = 0;    // published by this process
  double false_positive_rate = 0;   // of the filter, now
  double expected_lost = 0;         // expected number of URLs offered, wrongly taken for seen
  FilterStats filter = {};
  // Of the "seen" answers so far in this process that were checked against the ledger: how many,
  // how many were false, and the rate of new URLs taken for seen that this tells. With
  // FilterMode::kExact all are checked and the false ones set right; those found in the cache of
  // what is known are not counted.
  std::uint64_t seen_checked = 0;
  std::uint64_t seen_false = 0;
  double measured_false_positive_rate = 0;
  std::uint64_t memory = 0;    // bytes of queues, caches and buffers, about; without the filter
  std::string filter_warning;  // why the filter could not grow; empty: it could, or need not
};

}  // namespace trawl
