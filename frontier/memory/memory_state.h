// MemoryState: the state of a MemoryFrontier, in maps and sets. Not thread-safe: MemoryFrontier
// guards it with a mutex.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trawl/frontier.h"
#include "trawl/memory_frontier.h"
#include "trawl/url.h"

#include "frontier/common/frontier_clock.h"
#include "frontier/common/host_backoff.h"
#include "frontier/memory/request_rate_limiter.h"

namespace trawl {

struct MemoryHost;

// One admission of a URL, until it ends.
struct MemoryUrl {
  // Its place in the queue: by priority, higher first, then by arrival.
  struct Place {
    std::int32_t priority = 0;
    std::uint64_t number = 0;  // unique; a requeued URL gets a new one
    friend std::strong_ordering operator<=>(const Place& a, const Place& b) {
      if (a.priority != b.priority) return b.priority <=> a.priority;
      return a.number <=> b.number;
    }
    friend bool operator==(const Place&, const Place&) = default;
  };
  enum class State : std::uint8_t {
    kQueued,
    kLeased,
    kEnding,  // leased, and the request has ended: Outcome::end_later
    kDeferred,
    kEnded,
  };

  State state = State::kQueued;
  std::string key;  // MemoryState::identify()
  std::string url;
  std::string queue;
  bool named = false;  // the queue is UrlRequest::queue, not a host's
  std::string parent;
  std::string note;
  Place place;
  std::uint32_t depth = 0;  // at admission; KnownUrl has the smallest
  std::uint32_t redirects = 0;
  std::uint32_t attempts = 0;
  bool recrawl = false;
  std::int64_t not_before = 0;  // if it is deferred
};
using MemoryUrlPointer = std::shared_ptr<MemoryUrl>;

// The record of an admitted URL.
struct KnownUrl {
  std::uint32_t depth = 0;        // the smallest of its offers
  std::uint32_t noted_depth = 0;  // the same at the end of its last lease
  std::vector<MemoryUrlPointer> waiting;
  bool was_done = false;
  std::uint32_t fetches = 0;
  int status = 0;         // of its last fetch
  std::int64_t done = 0;  // when it was fetched
};

struct MemorySetAside {
  MemoryUrl url;
  SetAsideState state = SetAsideState::kHeld;
  bool was_queued = true;
  std::string reason = {};
  std::uint64_t rules = 0;
  int status = 0;
  std::int64_t since = 0;
};

struct MemoryLease {
  enum class State : std::uint8_t {
    kOpen,
    kEndsLater,  // Outcome::end_later
    kExpired,
  };
  State state = State::kOpen;
  MemoryUrlPointer url;
  std::uint64_t number = 0;  // of the URL's place
  MemoryHost* host = nullptr;
  std::vector<RequestRateLimiter*> clocks =
      {};  // of host, domain and address, until its request begins
  SteadyTime since = {};
  SteadyTime expires = {};
  bool fetched = false;                  // while open: see Frontier::fetched()
  std::optional<SteadyTime> began = {};  // its request, as reported there
  // Of a lease that ends later: its outcome, and the HoldReason if it is held.
  Outcome outcome = {};
  std::string held = {};
  std::uint64_t held_rules = 0;
};

struct MemoryHost {
  std::string name;
  bool named = false;  // MemoryUrl::named: without domain and address
  bool had_urls = false;
  HostSettings
      set;  // delay, leases, limit, address; delay and leases are never 0, exact_delay never false
  std::uint32_t failures = 0;
  std::int64_t blocked_until = 0;  // by FrontierClock
  bool parked = false;
  bool answered = false;
  bool nameless = false;  // its last outcome was kNoSuchHost
  std::optional<SteadyTime> silent_since;
  std::optional<double> response_time;                 // in milliseconds, smoothed
  std::map<MemoryUrl::Place, MemoryUrlPointer> queue;  // waiting URLs
  std::uint32_t leased = 0;
  std::uint32_t fetched = 0;  // of the leases
  RequestRateLimiter clock;
  SteadyTime not_before = SteadyTime::min();
  // For start_elsewhere(): when the next such request begins, the latest time given to one, and the
  // clocks of other groups that reserve the next.
  SteadyTime elsewhere = SteadyTime::min();
  SteadyTime last_elsewhere = SteadyTime::min();
  std::vector<RequestRateLimiter*> told;

  bool at_limit() const { return set.limit == 0; }
};

// The calls have the meaning of Frontier's.
class MemoryState {
 public:
  explicit MemoryState(const MemoryOptions& options);

  std::vector<Admission> offer(std::span<const UrlRequest> requests, std::string_view parent = {});
  std::vector<Lease> lease(std::size_t max);
  Result<std::vector<Admission>> complete(std::uint64_t id, const Outcome& outcome,
                                          std::span<const UrlRequest> links,
                                          const HoldReason* held = nullptr);
  Result<FailureVerdict> fail(std::uint64_t id, FailureReason reason,
                              std::optional<std::chrono::milliseconds> retry_after,
                              const Outcome& outcome);
  Result<void> release(std::uint64_t id, std::optional<SteadyTime> next_start,
                       std::optional<std::chrono::microseconds> started_after);
  // True: the host was at its most leases, and has URLs.
  Result<bool> fetched(std::uint64_t id, std::chrono::microseconds started_after);
  Result<void> renew(std::uint64_t id);

  Result<StartTurn> start(std::uint64_t id, std::string_view address);
  Result<StartTurn> start_elsewhere(std::string_view name, std::string_view address);
  void sent(const StartTurn& turn, std::optional<SteadyTime> when, std::string_view address);

  Result<void> set_host(std::string_view name, const HostSettings& settings);
  Result<HostInfo> host(std::string_view name) const;
  std::vector<HostInfo> hosts(std::string_view after, std::size_t limit) const;
  std::vector<HostCounts> busiest_hosts(HostOrder order, std::size_t limit);
  Result<HostCounts> host_counts(std::string_view name);
  Result<void> set_politeness(const PolitenessOptions& politeness, const RetryOptions& retry);
  Result<std::uint64_t> drop_host(std::string_view name);
  void visit_queue(std::string_view name, const std::function<bool(std::string_view)>& visit) const;

  std::vector<SetAsideUrl> set_aside(std::string_view after, std::size_t limit) const;
  std::uint64_t retry(const RetryWhich& which);

  UrlState lookup(std::string_view url_or_key) const;
  Progress progress() const;
  FrontierStats stats();
  std::optional<SteadyTime> next_turn();
  std::optional<SteadyTime> next_due();

 private:
  using milliseconds = std::chrono::milliseconds;
  using Aside = std::map<std::string, MemorySetAside, std::less<>>;

  // memory_urls.cc. The key of a request; nothing if it is invalid.
  std::optional<std::string> identify(const UrlRequest& request, MemoryUrl& url) const;
  void admit(MemoryUrl url, bool again, std::optional<SystemTime> not_before);
  void queue(const MemoryUrlPointer& url);
  void put_back(const MemoryUrlPointer& url);
  void defer(const MemoryUrlPointer& url, std::int64_t not_before);
  void promote_due();
  void count_deferred(const MemoryUrl& url, bool more);
  void end_url(const MemoryUrlPointer& url);
  void put_aside(MemorySetAside aside);
  Aside::iterator forget_aside(Aside::iterator aside);
  SetAsideUrl to_set_aside_url(const MemorySetAside& aside, const std::string& key) const;
  std::optional<UrlState> find(const std::string& key) const;

  // memory_leases.cc
  Result<MemoryLease*> given(std::uint64_t id);
  Result<MemoryLease*> open(std::uint64_t id);
  Lease hand_out(MemoryHost& host, SteadyTime now);
  void expire(SteadyTime now);
  // Ends the lease: its URL is then neither queued nor leased. Returns null if it had already
  // ended.
  MemoryUrlPointer end(std::uint64_t id, const Outcome& outcome);
  // An open lease is no longer its host's.
  void leave_host(MemoryLease& lease);
  void note_outcome(MemoryLease& lease, const Outcome& outcome);
  void note_began(MemoryLease& lease, std::optional<SteadyTime> began);
  void end_later(std::uint64_t id, const MemoryUrlPointer& url, const Outcome& outcome,
                 const HoldReason* held);
  void finish(const MemoryUrlPointer& url, const Outcome& outcome, const HoldReason* held);
  bool ends_url(const MemoryHost& host, FailureReason reason, const Outcome& outcome) const;
  void count_failure(MemoryHost& host, FailureReason reason,
                     std::optional<milliseconds> retry_after, const Outcome& outcome,
                     const MemoryUrl& url, FailureVerdict& verdict);
  Result<void> check_note(const Outcome& outcome) const;

  // memory_starts.cc
  milliseconds delay_of(const MemoryHost& host) const;
  struct Delayed {
    RequestRateLimiter* clock;
    milliseconds delay;
  };
  bool is_paced(const MemoryHost& host) const;
  // The clocks of the host, its domain and its address.
  std::vector<Delayed> clocks_of(MemoryHost& host);
  SteadyTime next_start(MemoryHost& host);
  void learn_address(MemoryHost& host, std::string_view address);
  StartTurn begin(const std::vector<Delayed>& clocks, SteadyTime now);

  // memory_hosts.cc
  MemoryHost& add_host(std::string_view name);
  const MemoryHost* find_host(std::string_view name) const;
  Result<void> check_name(std::string_view name) const;
  // Includes leased URLs.
  std::map<MemoryUrl::Place, MemoryUrlPointer> waiting(const MemoryHost& host) const;
  HostInfo info(const MemoryHost& host) const;
  HostCounts counts(MemoryHost& host);
  bool is_blocked(const MemoryHost& host) const { return host.blocked_until > clock_.now(); }
  bool may_lease(const MemoryHost& host) const;
  bool awaits_revival(const MemoryHost& host) const;

  MemoryOptions options_;
  const Canonicalizer canonicalizer_;
  const FrontierClock clock_;
  HostBackoff backoff_;

  std::unordered_map<std::string, KnownUrl> known_;
  Aside aside_;
  std::map<std::pair<std::int64_t, std::uint64_t>, MemoryUrlPointer> deferred_;  // by time
  // Pointers to hosts and clocks stay valid: none is ever removed.
  std::map<std::string, MemoryHost, std::less<>> hosts_;
  std::map<std::string, RequestRateLimiter, std::less<>> domains_, addresses_;
  std::string last_leased_;  // lease() continues after this host
  std::map<std::uint64_t, MemoryLease> leases_;
  SteadyTime next_expiry_ = SteadyTime::max();  // no lease expires before
  std::deque<std::uint64_t> expired_;           // oldest first
  std::size_t open_leases_ = 0;                 // including those that end later
  std::map<std::uint64_t, std::vector<RequestRateLimiter*>> turns_;  // answered kNow, not yet sent

  std::uint64_t last_lease_ = 0;
  std::uint64_t next_place_ = 0;
  std::uint64_t last_turn_ = 0;
  FrontierStats totals_;
};

}  // namespace trawl
