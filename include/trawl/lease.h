// The values that go into a frontier and come out of it: offered URLs, leases, outcomes, hosts.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "trawl/clocks.h"
#include "trawl/frontier_options.h"
#include "trawl/set_aside.h"

namespace trawl {

// The longest name of a queue.
inline constexpr std::size_t kMaxQueueBytes = 255;
// Leases of a host that Frontier::fetched() excludes from leases_per_host at the same time.
inline constexpr std::uint32_t kMaxFetchedLeases = 255;

// A URL offered to the frontier. The views need to live only as long as the call.
struct UrlRequest {
  std::string_view url;         // absolute, http or https; the fragment is dropped; see also `key`
  std::int32_t priority = 0;    // within a host, higher priorities are leased first
  std::uint32_t depth = 0;      // links followed from a seed; stored, not interpreted
  std::uint32_t redirects = 0;  // consecutive redirects that led here; stored, not interpreted
  // The URL of the page that links here; empty in complete(): the lease's URL. Dropped if longer
  // than LimitOptions::max_url_length.
  std::string_view parent = {};
  // The URL is queued at this time; absent: immediately.
  std::optional<SystemTime> not_before = std::nullopt;
  // Any bytes of the caller's, at most LimitOptions::max_note_bytes. Stored with the URL and
  // returned with its lease.
  std::string_view note = {};
  // Queues the URL even if it was admitted before, then as a recrawl; the answer is kNew. For URLs
  // that are done: one that still waits is leased twice.
  bool again = false;
  // Makes the URL seen without queueing it; the answer is kNew if it was not seen before. What is
  // known of it is then only that. For URLs that were fetched elsewhere. `again`, `hold` and the
  // members that describe a queued URL are ignored.
  bool seen_only = false;
  // Sets the URL aside instead of admitting it, unless it was admitted before. It is kept once;
  // retry() offers it later. For links that one of the caller's rules excludes but a later run may
  // want.
  std::optional<HoldReason> hold = std::nullopt;
  // Bytes that identify the request in place of the canonical URL, for different requests of one
  // URL (for example with another method or body). The URL is then stored unchanged, may have any
  // scheme, and needs only a host or a queue. Empty: the canonical URL decides. The same key must
  // always come with the same queue.
  std::string_view key = {};
  // The name of the queue, at most kMaxQueueBytes; empty: the queue of the URL's host. A queue has
  // the delay, leases and limits of a host, but not those of a domain or an address. A queue with
  // the name of a host is that host's queue.
  std::string_view queue = {};
};

// The answer to a UrlRequest.
enum class Admission : std::uint8_t {
  kNew,          // admitted: queued
  kSeen,         // was admitted before (or, with the false-positive rate, is wrongly called seen)
  kInvalid,      // not an absolute http(s) URL; with a key, neither host nor queue; or the queue's
                 // name is too long
  kTooLong,      // longer than LimitOptions::max_url_length
  kHeld,         // set aside: see UrlRequest::hold
  kNoteTooLong,  // its note is longer than LimitOptions::max_note_bytes
  // Accepted, and as durable as if it were queued; another process decides whether it is new. Only
  // a frontier shared by several processes returns it, for hosts that another process owns.
  kForwarded,
};

// When offer() returns.
enum class OfferWait : std::uint8_t {
  kDurable,  // when its answers are durable
  // When the answers are known; of thousands of URLs, when most are durable, since they become so
  // in parts that let other calls in between. Answers become durable before any later complete(),
  // fail(), hold() or flush(), by whichever thread. Until then lease() and progress() do not see
  // the URLs: call flush() before relying on Progress::at_end().
  kAnswer,
};

// The arguments of lease().
struct LeaseRequest {
  std::size_t max = 1;
  // The longest wait for the first URL if none is due, by the real clock.
  std::chrono::milliseconds wait{0};
  // Only this shard; absent: all. For threads that should not wait for each other: see
  // StorageOptions::shards.
  std::optional<std::uint32_t> shard = std::nullopt;
};

// A URL handed out for fetching. The lease is open until complete(), fail(), hold() or release(),
// or until it expires; until then its URL stays durable.
struct Lease {
  // Unique, also across runs unless the system's clock was set back between them. With
  // TestingOptions::deterministic_seed each run counts from 1.
  std::uint64_t id = 0;
  std::string url;
  // The name of its queue: UrlRequest::queue, or else the host's name followed by ":port" unless
  // the port is the default.
  std::string host;
  std::string parent;
  std::int32_t priority = 0;
  std::uint32_t depth = 0;  // the smallest of its offers since it was queued
  std::uint32_t redirects = 0;
  std::uint32_t attempts = 0;  // failed fetches before this one: see fail()
  bool recrawl = false;        // it was completed before: see Outcome::recrawl_at
  // Requests to its host, domain or address have a delay between them, so Frontier::start()
  // matters.
  bool paced = false;
  std::string note = {};  // as offered, or as the last completion set it
};

// The answer to Frontier::start().
struct StartTurn {
  // What the caller does with its request.
  enum class When : std::uint8_t {
    kNow,    // the request may start immediately
    kSoon,   // ask again at `at`, which is soon: keep the lease
    kLater,  // not before `at`: release the lease until then
  };
  When when = When::kLater;
  SteadyTime at{};
  // Internal to the frontier: they identify the request's target.
  std::uint64_t host = 0;
  std::uint64_t domain = 0;
  std::uint64_t address = 0;
};

// The result of fetching a lease's URL.
struct Outcome {
  int status = 0;          // HTTP status; 0 if there was no response
  std::string error = {};  // empty unless the fetch failed
  // A word for the cause of the failure, which retry() can select by. Empty: "status" for a status
  // of 400 or above, otherwise a word that the frontier chooses.
  std::string reason = {};
  // False if no request was made (for example because robots.txt forbids it): the completion counts
  // as skipped, and causes no delay. fail() interprets it differently: see there.
  bool requested = true;
  bool seed = false;  // count it in FrontierStats::seeds_succeeded if it succeeds
  // If the URL ends as failed, keeps it even beyond StorageOptions::max_set_aside.
  bool keep_failed = false;
  // The time from lease() to the real start of the request. The delays of host, domain and address
  // count from that start: see Frontier::lease().
  std::chrono::microseconds started_after{0};
  // The time from request to response, for PolitenessOptions::adaptive_delay.
  std::optional<std::chrono::milliseconds> response_time = std::nullopt;
  // The IP address that the request went to, as text: see HostSettings::address. Empty: unknown.
  std::string address = {};
  // The URL waits until then and is leased again. Absent: it is done.
  std::optional<SystemTime> recrawl_at = std::nullopt;
  // With recrawl_at: the note of the next lease, at most LimitOptions::max_note_bytes. Absent:
  // unchanged.
  std::optional<std::string> note = std::nullopt;
  // The request has ended and the host may get another one, but the lease stays open until a second
  // complete(), of which only the links count. For callers that must make their output durable
  // before the completion. Until then the lease neither expires nor can be released. Also valid
  // with hold(), and with fail() if the URL is not retried: see FailureVerdict::awaits_end.
  bool end_later = false;
  // The number of links that the caller left out because it has offered them before, at the same or
  // a smaller depth. They count as seen, whatever their answer was.
  std::uint64_t known_links = 0;
};

// Why a fetch failed. Decides whether the URL is retried, and whether its host is blocked for a
// while.
enum class FailureReason : std::uint8_t {
  kTimeout,          // no answer in time                  retried, host backs off
  kConnection,       // could not connect, or cut off      retried, host backs off
  kTooManyRequests,  // 429                                retried, host backs off
  kUnavailable,      // 503                                retried, host backs off
  kServerError,      // another 5xx, or a broken answer    retried
  kPermanent,        // not transient: the URL ends as failed
  // The host's name does not exist: looked up again after no_such_host_wait. If it still does not
  // exist, the host is given up with its queue if it has answered in this crawl; otherwise the URL
  // ends as failed.
  kNoSuchHost,
};

// What fail() decided about the URL and its host.
struct FailureVerdict {
  // The earliest time of the retry. Absent: no retry; the URL ends as failed or waits until
  // Outcome::recrawl_at.
  std::optional<SystemTime> retry_at;
  // The end of the host's block, if this failure causes one.
  std::optional<SystemTime> host_blocked_until;
  bool awaits_end = false;   // no retry, and the lease stays open: see Outcome::end_later
  bool host_parked = false;  // by this failure: see RetryOptions::host_failures
};

// The settings of a host or of another queue. Absent members stay unchanged; all are durable except
// `address`.
struct HostSettings {
  static constexpr SystemTime kNotBlocked = SystemTime::min();
  static constexpr SystemTime kParked = SystemTime::max();
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

  // The delay between the starts of its requests, for example from its robots.txt: the longer of
  // this and PolitenessOptions::delay applies. From 0 to kMaxDelay; 0: no delay of its own.
  std::optional<std::chrono::milliseconds> delay = std::nullopt;
  // True: `delay` alone applies (0: no delay), even if PolitenessOptions::delay or
  // PolitenessOptions::adaptive_delay demand more; those of domain and IP address still hold. For
  // hosts of the user's own. False disables this.
  std::optional<bool> exact_delay = std::nullopt;
  // In place of PolitenessOptions::leases_per_host; 0: no number of its own.
  std::optional<std::uint32_t> leases = std::nullopt;
  // The most further URLs that are completed with a request, including failed ones; the rest of the
  // queue is kept. Never more leases are open than URLs are left. kNoLimit removes the limit.
  std::optional<std::uint64_t> limit = std::nullopt;
  // The IP address that its requests go to, as text; empty: unknown. Kept while its queue is in
  // memory, and replaced by each Outcome::address. Before its first request a host belongs to no
  // address unless this or start() sets one.
  std::optional<std::string> address = std::nullopt;
  // No request before this time, at most a year from now. kNotBlocked, like any past time, removes
  // the block, forgets the host's failures, and revives a parked host. kParked parks the host, like
  // too many failures: until it is revived, or for RetryOptions::park_time.
  std::optional<SystemTime> blocked_until = std::nullopt;
};

// The state of a host's queue.
enum class HostState : std::uint8_t {
  kActive,
  kBlocked,  // until HostSettings::blocked_until
  kParked,   // after too many failures in a row, or by a call; its queue is kept
  kAtLimit,  // HostSettings::limit is used up
};

// The state of a host or of another queue.
struct HostInfo {
  std::string host;  // as Lease::host
  HostState state = HostState::kActive;
  std::uint64_t queued = 0;  // waiting URLs, including leased and excluding deferred ones
  std::uint32_t leased = 0;
  std::uint32_t failures = 0;  // in a row
  // As set; `limit` is what is left. `blocked_until` is present while the host is blocked, by a
  // call or by failures. `address` is always absent.
  HostSettings settings = {};
};

// Which hosts Frontier::busiest_hosts() returns first.
enum class HostOrder : std::uint8_t {
  kQueued,    // those with the most waiting URLs
  kFailures,  // those with the most failures in a row
};

// A host's queue as counted in memory.
struct HostCounts {
  std::string host;  // as Lease::host
  HostState state = HostState::kActive;
  std::uint64_t queued = 0;  // waiting URLs, including leased and excluding deferred ones
  // False while the URLs that earlier processes queued are still being counted: there are at least
  // `queued`.
  bool is_exact = true;
  std::uint32_t leased = 0;
  std::uint32_t failures = 0;  // in a row
  // The least time between the starts of two requests, by all that applies to the host now.
  std::chrono::milliseconds delay{0};
  // When its next request may start; absent if none waits for a time.
  std::optional<SteadyTime> next_start = std::nullopt;
  std::optional<SystemTime> blocked_until = std::nullopt;  // as in HostInfo::settings
};

// Whether a frontier has more to do.
struct Progress {
  // Every admitted URL is completed or dropped, durably, and none waits for a recrawl.
  bool finished = false;
  // Nothing more will be leased unless something is offered or changed: no URL is leased or
  // deferred, and all queued ones are of hosts that are parked or at their limit.
  bool exhausted = false;
  // As exhausted, except that recrawls wait for a time in the future.
  bool only_recrawls_wait = false;

  // Nothing to lease now or soon: finished, exhausted, or only recrawls later.
  bool at_end() const noexcept { return finished || exhausted || only_recrawls_wait; }
};

// The state of a URL in a frontier.
struct UrlState {
  // Where the URL is.
  enum class Kind : std::uint8_t {
    kUnknown,   // it was never admitted
    kWaiting,   // in its queue
    kDeferred,  // waits until `at`: a retry, a recrawl, or UrlRequest::not_before
    kLeased,
    kHeld,    // set aside at the time `at` for `reason`
    kFailed,  // the same; `status` if the host answered
    // It is done; `status` and `at` are of its last fetch. Only with a ledger: without one the
    // answer is kSeen.
    kDone,
    // It was admitted before (or is a false positive of the filter), and neither waits nor is set
    // aside.
    kSeen,
  };
  Kind kind = Kind::kUnknown;
  std::string host = {};  // as Lease::host; empty if unknown
  std::string reason = {};
  int status = 0;
  std::optional<SystemTime> at = std::nullopt;
  std::uint32_t fetches = 0;  // of a URL that is done, with a ledger; 0: unknown
  // How a URL that is held or failed was found: as in UrlRequest.
  std::uint32_t depth = 0;
  std::uint32_t redirects = 0;
  std::string note = {};
};

}  // namespace trawl
