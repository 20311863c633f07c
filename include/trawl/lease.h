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
#include "trawl/set_aside.h"

namespace trawl {

// Longer delays than a year are refused.
inline constexpr std::chrono::milliseconds kMaxDelay = std::chrono::hours(365 * 24);

// Notes of more bytes are left out.
inline constexpr std::size_t kMaxNoteBytes = 4096;

// A URL offered to the frontier. The views need to live only as long as the call.
struct UrlRequest {
  std::string_view url;         // absolute, http or https; a fragment is dropped
  std::int32_t priority = 0;    // higher ones of a host are leased first
  std::uint32_t depth = 0;      // links followed from a seed; stored, not interpreted
  std::uint32_t redirects = 0;  // redirects in a row that led here; stored, not interpreted
  // Where it was found; for complete() the lease's URL if empty. One longer than
  // FrontierOptions::max_url_length is dropped.
  std::string_view parent = {};
  // The URL waits until then before it is queued; nothing: it is queued at once.
  std::optional<SystemTime> not_before = std::nullopt;
  // Anything of the caller's, at most kMaxNoteBytes: kept with the URL while it waits, and given
  // back with its lease.
  std::string_view note = {};
  // Queued even if it was admitted before, then as a recrawl; told new. For URLs that are done: one
  // that still waits is then leased twice.
  bool again = false;
  // Not admitted but set aside, unless it was admitted before: kept, once, for retry() to offer it
  // then. For links that a rule of the caller's passes over, and that another run may want.
  std::optional<HoldReason> hold = std::nullopt;
};

// What became of a UrlRequest.
enum class Admission : std::uint8_t {
  kNew,      // admitted: queued, and durable when offer() returns
  kSeen,     // was admitted before (or, with the false-positive rate, wrongly taken for seen)
  kInvalid,  // not an absolute http(s) URL
  kTooLong,  // longer than FrontierOptions::max_url_length
  kHeld,     // set aside: see UrlRequest::hold
};

// A URL handed out for fetching. Stays open, and its URL durable, until complete(), fail() or
// release(), or until it expires.
struct Lease {
  // Never given twice, nor by a later run as long as the system's clock was not set back in
  // between; with FrontierOptions::deterministic_seed each run counts from 1.
  std::uint64_t id = 0;
  std::string url;
  std::string host;  // its host queue: host name, then ":port" if it is not the default
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
  // If the URL ends as failed it is kept even where FrontierOptions::max_set_aside is reached.
  bool keep_failed = false;
  // How long after lease() the request really started; the delays of the host, its domain and its
  // address count from there: see Frontier::lease().
  std::chrono::microseconds started_after{0};
  // From the request to the response: what FrontierOptions::adaptive_delay is a multiple of.
  std::optional<std::chrono::milliseconds> response_time = std::nullopt;
  // The IP address the request went to, as text: see set_host_address(). Empty: not known.
  std::string address = {};
  // The URL waits until then and is leased again. Nothing: it is done.
  std::optional<SystemTime> recrawl_at = std::nullopt;
  // With recrawl_at: the note that the URL is leased with then (kMaxNoteBytes). Nothing: the one it
  // has.
  std::optional<std::string> note = std::nullopt;
  // Links that the caller left out since it offered them before, with complete() or offer(), at no
  // greater depth: they count as seen, whatever the answer was.
  std::uint64_t known_links = 0;
  // Anything of the caller's: handed to before_commit untouched.
  std::shared_ptr<const void> context = nullptr;
};

// A completion about to become durable.
struct Completion {
  const Lease& lease;
  const Outcome& outcome;
  std::size_t links;      // offered with it, Outcome::known_links included
  std::size_t new_links;  // of these, admitted
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
  bool host_given_up = false;  // by this failure: see FrontierOptions::host_failures
};

// Of one host's queue.
enum class HostState : std::uint8_t {
  kActive,
  kBlocked,  // until HostInfo::blocked_until
  kGivenUp,  // failed too often in a row; its queue is kept: see Frontier::revive_host()
  kAtLimit,  // all URLs that set_host_limit() allows were completed; before, kActive
};

struct HostInfo {
  std::string host;  // as Lease::host
  HostState state = HostState::kActive;
  std::uint64_t queued = 0;  // URLs that wait, leased ones included, those deferred not
  std::uint32_t leased = 0;
  std::uint32_t failures = 0;  // in a row
  std::optional<SystemTime> blocked_until = std::nullopt;
  std::optional<std::chrono::milliseconds> delay = std::nullopt;  // set_host_delay()
  std::optional<std::uint32_t> max_leases = std::nullopt;         // set_host_leases()
  std::optional<std::uint64_t> remaining = std::nullopt;          // set_host_limit()
};

}  // namespace trawl
