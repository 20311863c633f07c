// Counters: what a frontier counts over all its runs.
#pragma once

#include <cstdint>

namespace trawl {

// Totals since the crawl began, stored with every write.
struct Counters {
  std::uint64_t admitted = 0;
  std::uint64_t completed = 0;  // ends of URLs: those admitted, and recrawls once more
  std::uint64_t failed = 0;
  std::uint64_t seen = 0;
  std::uint64_t invalid = 0;
  std::uint64_t skipped = 0;
  std::uint64_t dropped = 0;
  std::uint64_t retried = 0;
  std::uint64_t recrawls = 0;
  std::uint64_t deferred = 0;  // that wait now
  std::uint64_t sequence = 0;  // the next QueueOrder::sequence
  std::uint64_t deepest = 0;   // the greatest depth ever admitted
  std::uint64_t depth_repairs = 0;
  std::uint64_t lowered = 0;            // depths ever put into kDepths
  std::uint64_t recrawls_deferred = 0;  // of those deferred: is_recrawl_record()
  std::uint64_t succeeded = 0;          // completions with a status of 2xx, or 304
  std::uint64_t seeds_succeeded = 0;    // of these, those with Outcome::seed
  std::uint64_t held = 0;               // URLs in kSetAside, by state
  std::uint64_t set_aside_failed = 0;
  std::uint64_t requeued = 0;       // URLs taken from there back into their queues
  std::uint64_t not_set_aside = 0;  // for want of room
  std::uint64_t clock = 0;          // FrontierClock::now() at the last commit
  std::uint64_t readmitted = 0;     // of those admitted: UrlRequest::again, and admitted before

  // Different URLs among those admitted.
  std::uint64_t urls() const noexcept { return admitted - readmitted; }
  // URLs that are queued, leased or deferred.
  std::uint64_t open() const noexcept {
    return admitted + recrawls + requeued - completed - dropped;
  }
  std::uint64_t set_aside() const noexcept { return held + set_aside_failed; }
  // Or not even by those.
  bool differ_by_offers_alone(Counters others) const noexcept {
    others.seen = seen;
    others.invalid = invalid;
    return others == *this;
  }
  friend bool operator==(const Counters&, const Counters&) = default;
};

}  // namespace trawl
