// The options of every implementation of Frontier.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace trawl {

// The longest delay or other wait that may be set: a year.
inline constexpr std::chrono::milliseconds kMaxDelay = std::chrono::hours(365 * 24);

// The highest LimitOptions::max_note_bytes.
inline constexpr std::size_t kMaxNoteBytes = 16u << 20;

// How often hosts receive requests. Most users set only `delay`.
struct PolitenessOptions {
  // Between the starts of two requests to a host (or another queue: UrlRequest::queue), to the
  // hosts of a registrable domain, and to an IP address. All three hold at once; 0 disables one.
  std::chrono::milliseconds delay{1000};
  std::chrono::milliseconds domain_delay{0};
  std::chrono::milliseconds ip_delay{0};
  // A host's delay is at least this many times its response time, smoothed over its last few
  // requests. This part of the delay is at most max_adaptive_delay. 0 disables it.
  double adaptive_delay = 0;
  std::chrono::milliseconds max_adaptive_delay{60'000};
  // Open at the same time, without those passed to Frontier::fetched(); at least 1.
  std::uint32_t leases_per_host = 1;
};

// What happens after a failed fetch. Most users keep the defaults.
struct RetryOptions {
  // A URL whose fetch failed for a transient reason is retried this many times: after retry_delay
  // at first, then twice as long each time, up to max_retry_delay.
  std::uint32_t retries = 2;
  std::chrono::milliseconds retry_delay{10'000};
  std::chrono::milliseconds max_retry_delay{3'600'000};
  // A host that fails (FailureReason says by what) is blocked for host_backoff, twice as long after
  // each further failure in a row, up to max_host_backoff; half of each wait is random. After
  // host_failures in a row it is parked: its queue is kept, and nothing is leased from it. With
  // host_failures 0 a host is parked only if it has answered before and then not for six times
  // max_host_backoff and at least a minute, so that its URLs do not wait without end.
  std::chrono::milliseconds host_backoff{1'000};
  std::chrono::milliseconds max_host_backoff{600'000};
  std::uint32_t host_failures = 20;
  // After this time a parked host is revived: leased from again, its failures forgotten. 0: only
  // HostSettings::kNotBlocked revives it.
  std::chrono::milliseconds park_time{0};
  std::chrono::milliseconds no_such_host_wait{3'000};  // see FailureReason::kNoSuchHost
};

// Limits for offered URLs and for leases. Most users keep the defaults.
struct LimitOptions {
  std::uint32_t max_url_length = 2083;  // bytes; longer URLs are refused: Admission::kTooLong
  // Bytes of a note, at most kMaxNoteBytes; longer ones are refused: Admission::kNoteTooLong.
  std::uint32_t max_note_bytes = 4096;
  // A lease that is neither ended nor renewed for this time expires, and its URL is leased again.
  // 0: leases do not expire.
  std::chrono::milliseconds lease_timeout{3'600'000};
  // Leases open at the same time over all hosts, including those whose completion is not yet
  // durable. So at most this many URLs are leased twice because of a crash.
  std::uint32_t max_open_leases = 1'000'000;
};

}  // namespace trawl
