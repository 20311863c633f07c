// The counters and statistics of a frontier.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "trawl/clocks.h"
#include "trawl/filter.h"

namespace trawl {

// Totals since the frontier was created, over all processes.
struct FrontierCounters {
  std::uint64_t admitted = 0;         // URLs answered with kNew
  std::uint64_t completed = 0;        // of these, done or failed; recrawls count again
  std::uint64_t failed = 0;           // completed with an error
  std::uint64_t skipped = 0;          // completed without a request, including held ones
  std::uint64_t succeeded = 0;        // completed with a status of 2xx, or 304
  std::uint64_t seeds_succeeded = 0;  // of these, those with Outcome::seed
  std::uint64_t held = 0;             // set aside now: held, and failed
  std::uint64_t set_aside_failed = 0;
  std::uint64_t requeued = 0;       // by retry(), if queued before
  std::uint64_t not_set_aside = 0;  // no room: StorageOptions::max_set_aside
  // Offers answered with kSeen, and those answered with kInvalid, kTooLong or kNoteTooLong. The
  // count of an offer() that admitted nothing becomes durable with the next write.
  std::uint64_t seen = 0;
  std::uint64_t invalid = 0;
  std::uint64_t dropped = 0;            // by drop_host()
  std::uint64_t retried = 0;            // failed fetches that were or will be retried
  std::uint64_t recrawls = 0;           // completions that asked for a recrawl
  std::uint64_t deferred = 0;           // retries and recrawls that wait for their time
  std::uint64_t recrawls_deferred = 0;  // of these, recrawls that are not retries
  // URLs offered again, before they were done, with a smaller depth than they were admitted with.
  std::uint64_t depth_repairs = 0;
  std::uint64_t deepest = 0;     // the greatest depth ever admitted
  std::uint64_t readmitted = 0;  // of those admitted: admitted before, with UrlRequest::again
  std::uint64_t seen_only = 0;   // of those admitted: never queued (UrlRequest::seen_only)

  // URLs that are queued, leased or deferred.
  std::uint64_t open() const noexcept {
    return admitted - seen_only + recrawls + requeued - completed - dropped;
  }
  friend bool operator==(const FrontierCounters&, const FrontierCounters&) = default;
};

// How long something took, counted by time.
struct DurationHistogram {
  // The upper bounds of all buckets but the last, in seconds.
  static constexpr std::array<double, 16> kBounds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                                     0.01,   0.025,   0.05,   0.1,   0.25,   0.5,
                                                     1,      2.5,     5,      10};

  std::array<std::uint64_t, kBounds.size() + 1> counts{};  // of each bucket alone
  double sum = 0;                                          // seconds

  void add(double seconds) noexcept {
    std::size_t bucket = 0;
    while (bucket < kBounds.size() && seconds > kBounds[bucket])
      ++bucket;
    ++counts[bucket];
    sum += seconds;
  }
  std::uint64_t count() const noexcept {
    std::uint64_t all = 0;
    for (const std::uint64_t of_bucket : counts)
      all += of_bucket;
    return all;
  }
  friend bool operator==(const DurationHistogram&, const DurationHistogram&) = default;
};

// The state of a frontier. What an implementation does not count is 0.
struct FrontierStats : FrontierCounters {
  std::uint64_t queued = 0;  // waiting in a host queue, not leased
  std::uint64_t leased = 0;  // open leases, including those whose completion is not yet durable
  std::uint64_t hosts = 0;   // host queues in memory
  std::uint64_t hosts_blocked = 0;  // of these, blocked now, without those that are parked
  std::uint64_t hosts_parked = 0;   // of these
  std::uint64_t hosts_leased = 0;   // of these, with open leases
  // Of these, with URLs and without open leases; neither parked nor at their limit. Those that are
  // blocked are included.
  std::uint64_t hosts_waiting = 0;
  // When the next URL can be leased, by the turns of the hosts and the times of deferred URLs; it
  // may be in the past. Empty: none waits for a time. Unlike Frontier::next_due() without the ends
  // of leases. If very many hosts without URLs come first, it may be too early.
  std::optional<SteadyTime> next_turn;
  std::uint64_t expired = 0;       // leases that expired; this and the next two in this process
  std::uint64_t late = 0;          // completions that counted although the lease had expired
  std::uint64_t repeated = 0;      // completions of leases that had ended
  std::uint64_t checkpoints = 0;   // published by this process
  double false_positive_rate = 0;  // of the filter, now
  double expected_lost = 0;        // expected number of offered URLs wrongly called seen
  FilterStats filter = {};
  // The "seen" answers of this process that were checked against the ledger, the false ones among
  // them, and the resulting estimate of the false-positive rate. With FilterMode::kExact all are
  // checked and the false ones corrected; those answered from the cache of known URLs are not
  // counted.
  std::uint64_t seen_checked = 0;
  std::uint64_t seen_false = 0;
  double measured_false_positive_rate = 0;
  std::uint64_t memory = 0;        // bytes of queues, caches and buffers, about; no filter
  DurationHistogram commit_times;  // of the writes of this process that made changes durable
  std::string filter_warning;      // why the filter could not grow; empty if it did not fail
};

}  // namespace trawl
