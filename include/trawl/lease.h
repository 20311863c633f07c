// What goes into a frontier and comes out of it: URLs offered, leases, how they ended, and what is
// known of a host.
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

// A queue's name is not longer.
inline constexpr std::size_t kMaxQueueBytes = 255;

// A URL offered to the frontier. The views need to live only as long as the call.
struct UrlRequest {
  std::string_view url;         // absolute, http or https; a fragment is dropped; but see `key`
  std::int32_t priority = 0;    // higher ones of a host are leased first
  std::uint32_t depth = 0;      // links followed from a seed; stored, not interpreted
  std::uint32_t redirects = 0;  // redirects in a row that led here; stored, not interpreted
  // Where it was found; for complete() the lease's URL if empty. One longer than
  // LimitOptions::max_url_length is dropped.
  std::string_view parent = {};
  // The URL waits until then before it is queued; nothing: it is queued at once.
  std::optional<SystemTime> not_before = std::nullopt;
  // Anything of the caller's, at most LimitOptions::max_note_bytes: kept with the URL while it
  // waits, and given back with its lease.
  std::string_view note = {};
  // Queued even if it was admitted before, then as a recrawl; told new. For URLs that are done: one
  // that still waits is then leased twice.
  bool again = false;
  // Not admitted but set aside, unless it was admitted before: kept, once, for retry() to offer it
  // then. For links that a rule of the caller's passes over, and that another run may want.
  std::optional<HoldReason> hold = std::nullopt;
  // Bytes that decide whether it was seen, in place of the URL: for requests of one URL that are
  // not the same, as they differ in method or body, say. The URL is then kept as it is given, of
  // any scheme, and only has to have a host, or a queue. Empty: the canonical URL decides. The same
  // key must always come with the same queue.
  std::string_view key = {};
  // A queue of this name, at most kMaxQueueBytes, in place of that of its host: with the delay,
  // leases and limits of a host, but not those of a domain or an address. Empty: its host's. A
  // queue that has the name of a host is that host's.
  std::string_view queue = {};
};

// What became of a UrlRequest.
enum class Admission : std::uint8_t {
  kNew,          // admitted: queued
  kSeen,         // was admitted before (or, with the false-positive rate, wrongly taken for seen)
  kInvalid,      // not an absolute http(s) URL; with a key, without host and queue; or its queue's
                 // name is too long
  kTooLong,      // longer than LimitOptions::max_url_length
  kHeld,         // set aside: see UrlRequest::hold
  kNoteTooLong,  // refused, since its note is longer than LimitOptions::max_note_bytes
  // Taken, and as safe as if it were queued; whether it is new is decided elsewhere. A frontier
  // that is shared by many answers so for hosts that are another's.
  kForwarded,
};

// When offer() returns.
enum class OfferWait : std::uint8_t {
  kDurable,  // when what it answered is durable
  // When it knows the answers: they are durable before any later complete(), fail(), hold() or
  // flush() is, whichever thread calls it.
  kAnswer,
};

// What lease() is asked for.
struct LeaseRequest {
  std::size_t max = 1;
  // So long it waits for the first one, if none is due. By the real clock.
  std::chrono::milliseconds wait{0};
  // Of this shard alone; nothing: of all. For threads that do not want to wait for each other: see
  // StorageOptions::shards.
  std::optional<std::uint32_t> shard = std::nullopt;
};

// A URL handed out for fetching. Stays open, and its URL durable, until complete(), fail() or
// release(), or until it expires.
struct Lease {
  // Never given twice, nor by a later run as long as the system's clock was not set back in
  // between; with TestingOptions::deterministic_seed each run counts from 1.
  std::uint64_t id = 0;
  std::string url;
  // Its queue: UrlRequest::queue, or else the host's name, then ":port" if it is not the default.
  std::string host;
  std::string parent;
  std::int32_t priority = 0;
  std::uint32_t depth = 0;  // the smallest it was offered with since it was queued
  std::uint32_t redirects = 0;
  std::uint32_t attempts = 0;  // fetches that failed before this one: see fail()
  bool recrawl = false;        // it was completed before: see Outcome::recrawl_at
  // There is a delay between requests to its host, domain or address: Frontier::start() may have
  // something to say.
  bool paced = false;
  std::string note = {};  // as offered, or as the completion before left it
};

// The answer to Frontier::start().
struct StartTurn {
  enum class When : std::uint8_t {
    kNow,    // the request may be made, at once
    kSoon,   // to be asked again at `at`, which is soon: the lease is best kept
    kLater,  // not before `at`: the lease is best given back until then
  };
  When when = When::kLater;
  SteadyTime at{};
  // The frontier's own: of what the request goes to.
  std::uint64_t host = 0;
  std::uint64_t domain = 0;
  std::uint64_t address = 0;
};

// How fetching a lease's URL ended.
struct Outcome {
  int status = 0;          // HTTP status; 0 if there was no response
  std::string error = {};  // empty unless the fetch failed
  // A word for why it failed, by which retry() finds it; empty: "status" if there was one of 400 or
  // above, else one of the frontier's own.
  std::string reason = {};
  // False if no request was made after all (robots.txt forbids it, say): the completion counts as
  // skipped, and the host need not wait for it. Of fail() another: see there.
  bool requested = true;
  bool seed = false;  // counts in FrontierStats::seeds_succeeded if it succeeds
  // If the URL ends as failed it is kept even where StorageOptions::max_set_aside is reached.
  bool keep_failed = false;
  // How long after lease() the request really started; the delays of the host, its domain and its
  // address count from there: see Frontier::lease().
  std::chrono::microseconds started_after{0};
  // From the request to the response: what PolitenessOptions::adaptive_delay is a multiple of.
  std::optional<std::chrono::milliseconds> response_time = std::nullopt;
  // The IP address the request went to, as text: see HostSettings::address. Empty: not known.
  std::string address = {};
  // The URL waits until then and is leased again. Nothing: it is done.
  std::optional<SystemTime> recrawl_at = std::nullopt;
  // With recrawl_at: the note that the URL is leased with then, at most
  // LimitOptions::max_note_bytes. Nothing: the one it has.
  std::optional<std::string> note = std::nullopt;
  // The request has ended, and its host may be asked again, but the lease stays open until
  // complete() is called for it once more, of which only the links count: for a caller that has to
  // write what it got, so that this is durable no later than the end. Until then the lease neither
  // expires nor can be given back. With hold() too; with fail() if the URL is not tried again, as
  // FailureVerdict::awaits_end says.
  bool end_later = false;
  // Links that the caller left out since it offered them before, with complete() or offer(), at no
  // greater depth: they count as seen, whatever the answer was.
  std::uint64_t known_links = 0;
};

// Why a fetch failed, as far as it matters for what comes next: after which of them the URL is
// tried again, and after which its host is left alone for a while.
enum class FailureReason : std::uint8_t {
  kTimeout,          // no answer in time                  tried again, host backs off
  kConnection,       // could not connect, or cut off      tried again, host backs off
  kTooManyRequests,  // 429                                tried again, host backs off
  kUnavailable,      // 503                                tried again, host backs off
  kServerError,      // another 5xx, or a broken answer    tried again
  kPermanent,        // nothing that passes by itself: the URL ends as failed
  // The name of the host does not exist: asked again after no_such_host_wait. If it still does not,
  // the host is given up with its queue if it has answered in this crawl, else the URL ends as
  // failed.
  kNoSuchHost,
};

// What became of the URL of a failed fetch.
struct FailureVerdict {
  // When it is tried again, if its host is leased from then; nothing: it was given up, and ends as
  // failed, or waits until Outcome::recrawl_at.
  std::optional<SystemTime> retry_at;
  // Until when its host is left alone, if this failure makes it so.
  std::optional<SystemTime> host_blocked_until;
  bool awaits_end = false;   // the URL was given up, and the lease is open: see Outcome::end_later
  bool host_parked = false;  // by this failure: see RetryOptions::host_failures
};

// What may be set of a host, or of another queue. A member that is not set stays as it is; all are
// durable, `address` excepted.
struct HostSettings {
  static constexpr SystemTime kNotBlocked = SystemTime::min();
  static constexpr SystemTime kParked = SystemTime::max();
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

  // Between the starts of its requests (its robots.txt may ask for one): the longer of this and
  // PolitenessOptions::delay holds. From 0 to kMaxDelay; 0: as others.
  std::optional<std::chrono::milliseconds> delay = std::nullopt;
  // Leases open at the same time, in place of PolitenessOptions::leases_per_host; 0: as others.
  std::optional<std::uint32_t> leases = std::nullopt;
  // So many more of its URLs are completed at most, and the rest of its queue is kept. Counts
  // completed URLs, failed ones too, for which a request was made; no more leases are open than are
  // left. kNoLimit lifts it.
  std::optional<std::uint64_t> limit = std::nullopt;
  // The IP address that its requests go to, as text; empty: not known. Kept while its queue is in
  // memory, and replaced by each Outcome::address. A host that was not asked yet counts to no
  // address unless it is set here, or by start().
  std::optional<std::string> address = std::nullopt;
  // No request before this time, at most a year from now. kNotBlocked, as any time that has passed,
  // lifts the block, forgets the host's failures, and revives it if it was parked. kParked parks
  // it, as too many failures do: until it is revived, or for RetryOptions::park_time.
  std::optional<SystemTime> blocked_until = std::nullopt;
};

// Of one host's queue.
enum class HostState : std::uint8_t {
  kActive,
  kBlocked,  // until HostSettings::blocked_until
  kParked,   // it failed too often in a row, or was parked; its queue is kept
  kAtLimit,  // all URLs that HostSettings::limit allows were completed; before, kActive
};

struct HostInfo {
  std::string host;  // as Lease::host
  HostState state = HostState::kActive;
  std::uint64_t queued = 0;  // URLs that wait, leased ones included, deferred ones not
  std::uint32_t leased = 0;
  std::uint32_t failures = 0;  // in a row
  // What was set, and of `limit` what is left. `blocked_until` is there while the host is blocked,
  // by a call or by its failures; `address` is not told.
  HostSettings settings = {};
};

// How far a frontier is.
struct Progress {
  // Every admitted URL is completed or dropped, durably, and none waits for a recrawl.
  bool finished = false;
  // Nothing more will be leased unless something is offered or changed: none is leased or deferred,
  // and those queued, if any, are of hosts that are parked or at their limit.
  bool exhausted = false;
  // As exhausted, except that recrawls wait for their time, and none is due yet.
  bool only_recrawls_wait = false;

  // Nothing to lease now or before long: finished, exhausted, or a recrawl at best.
  bool at_end() const noexcept { return finished || exhausted || only_recrawls_wait; }
};

// What a frontier knows of a URL.
struct UrlState {
  enum class Kind : std::uint8_t {
    kUnknown,   // it was never admitted
    kWaiting,   // in its queue
    kDeferred,  // waits until `at`, for a retry or a recrawl, or since it was offered so
    kLeased,
    kHeld,    // set aside at `at`, for `reason`
    kFailed,  // the same; `status` if there was an answer
    // It is done. With a ledger `status` and `at` are of its last fetch; without one this is not
    // known apart from kSeen.
    kDone,
    // It was admitted before (or is taken for seen wrongly, with the filter's rate), and neither
    // waits nor is set aside.
    kSeen,
  };
  Kind kind = Kind::kUnknown;
  std::string host = {};  // as Lease::host; empty where it is not known
  std::string reason = {};
  int status = 0;
  std::optional<SystemTime> at = std::nullopt;
};

}  // namespace trawl
