// FrontierModel: what a frontier must answer, worked out with maps and sets.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "trawl/embedded_frontier.h"
#include "trawl/url_groups.h"

namespace trawl::test {

using Milliseconds = std::chrono::milliseconds;

// What is wrong with an answer, one line each; empty: nothing.
using Mismatches = std::vector<std::string>;

template <class T>
void expect_equal(Mismatches& wrong, const char* what, const T& actual, const T& expected) {
  if (!(actual == expected)) {
    wrong.push_back(fmt::format("{} is {} and should be {}", what, actual, expected));
  }
}

// The registrable domain of a host queue's name.
inline std::string domain_of(const std::string& host) {
  return std::string(registrable_domain(std::string_view(host).substr(0, host.find(':'))));
}

// One URL of the crawl, once it was admitted.
struct ModelUrl {
  enum State { kQueued, kDeferred, kDone, kDropped } state = kQueued;
  std::string host;
  std::string parent;
  std::int32_t priority = 0;
  std::uint32_t depth = 0;         // the smallest it was offered with
  std::uint32_t stored_depth = 0;  // the one its record has
  std::uint32_t redirects = 0;
  std::uint32_t attempts = 0;
  bool recrawl = false;
  std::uint64_t place = 0;      // in the order in which URLs were queued or deferred; unique
  std::int64_t not_before = 0;  // of a deferred one
};

// A URL that is held or failed; `url` is in FrontierModel::urls() as done if it was queued.
struct ModelAside {
  std::string url;
  SetAsideState state = SetAsideState::kHeld;
  std::string reason;
  std::uint64_t rules = 0;
  int status = 0;
  std::int64_t since = 0;
  bool was_queued = true;
  std::int32_t priority = 0;
  std::uint32_t depth = 0;
  std::uint32_t redirects = 0;
  std::string parent;
};

struct ModelHost {
  std::optional<Milliseconds> delay;
  std::optional<std::uint32_t> max_leases;
  std::optional<std::uint64_t> remaining;
  std::uint32_t failures = 0;
  std::int64_t blocked_until = 0;
  bool given_up = false;
  bool answered = false;
  std::optional<SteadyTime> silent_since;
  // The times that its delay counts from.
  std::multiset<SteadyTime> open_starts;
  std::optional<SteadyTime> started;
  SteadyTime not_before{};
  // Until then nothing is known of its delay: it was raised when the host may have been forgotten.
  SteadyTime uncertain_until{};

  bool has_settings(std::int64_t wall) const {
    return delay || max_leases || remaining || failures > 0 || blocked_until > wall || given_up;
  }
};

struct ModelLease {
  enum State { kOpen, kExpired, kEnded } state = kOpen;
  std::string url;
  std::uint64_t place = 0;  // of its URL then
  SteadyTime since;
  SteadyTime expires;
  bool fetched = false;
};

// Of a frontier with a clock that stands still during calls, leases of which the caller ends each
// as it likes, and no false positives. Says nothing of the order among hosts.
class FrontierModel {
 public:
  explicit FrontierModel(const EmbeddedOptions& options) : options_(&options) {}
  // The options and clocks of the frontier are the model's too.
  void use(const EmbeddedOptions& options) { options_ = &options; }

  // The process ended, and another opened the directory, and found a crawl there or not.
  void restart(bool resumed);

  std::vector<Admission> offer(std::span<const UrlRequest> requests,
                               const std::string& parent = {});

  // Before lease(): what it does whatever is leased.
  void begin_lease();
  // One lease() of one shard; `max` leases were asked for.
  Mismatches lease(std::size_t max, const std::vector<Lease>& leases, std::uint32_t shard);
  // True if something of the shard could be leased now: next_due() must then not be in the future.
  bool has_work(std::uint32_t shard) const;

  bool knows(std::uint64_t lease) const { return leases_.contains(lease); }
  const std::map<std::uint64_t, ModelLease>& leases() const { return leases_; }
  std::vector<Admission> complete(std::uint64_t lease, const Outcome& outcome,
                                  std::span<const UrlRequest> links);
  Mismatches fail(std::uint64_t lease, FailureReason reason,
                  std::optional<Milliseconds> retry_after, const Outcome& outcome,
                  const FailureVerdict& verdict);
  // The same when the verdict never came; then adopt_block(), with what was found afterwards.
  void fail_unheard(std::uint64_t lease, FailureReason reason,
                    std::optional<Milliseconds> retry_after, const Outcome& outcome,
                    std::int64_t blocked_until);
  void adopt_block(const std::string& host, std::int64_t blocked_until);
  void hold(std::uint64_t lease, const HoldReason& reason);
  // Returns how many were queued. `order`: what set_aside() returned before, in which they are
  // queued.
  std::uint64_t retry(const RetryWhich& which, const std::vector<SetAsideUrl>& order);
  bool release(std::uint64_t lease, std::optional<SteadyTime> next_start,
               Milliseconds started_after);
  bool renew(std::uint64_t lease);
  bool fetched(std::uint64_t lease, Milliseconds started_after);

  void set_host(const std::string& host, const HostSettings& settings);
  void set_host_delay(const std::string& host, Milliseconds delay);
  void set_host_leases(const std::string& host, std::uint32_t leases);
  void set_host_limit(const std::string& host, std::optional<std::uint64_t> urls);
  void block_host(const std::string& host, std::int64_t until);
  void revive_host(const std::string& host);
  // Returns how many were dropped. Those of the host queue stay with `deferred_only`.
  std::uint64_t drop_host(const std::string& host, bool deferred_only = false);

  Mismatches check_stats(const FrontierStats& stats) const;
  // That each URL is in one state alone, and those set aside are as they should be.
  Mismatches check_set_aside(const std::vector<SetAsideUrl>& urls) const;
  // "Seen" and invalid URLs alone are counted durably only when something else is written: after a
  // crash there may be fewer. If so, the model goes on with what is there.
  void adopt_lesser_counts(const FrontierStats& stats);
  Mismatches check_hosts(const std::vector<HostInfo>& hosts) const;
  bool finished() const;
  bool exhausted() const;

  const std::map<std::string, ModelUrl>& urls() const { return urls_; }
  const std::map<Fingerprint, ModelAside>& set_aside() const { return aside_; }
  const std::set<std::string>& host_names() const { return host_names_; }
  const ModelHost& host(const std::string& name) { return hosts_[name]; }
  // When something may next change without a call; nothing: never.
  std::optional<Milliseconds> next_event() const;

 private:
  struct Order {
    std::int32_t priority;
    std::uint64_t place;
    friend bool operator<(const Order& a, const Order& b) {
      return std::tuple(b.priority, a.place) < std::tuple(a.priority, b.place);
    }
  };
  using Queue = std::map<Order, std::string>;

  SteadyTime now() const { return options_->testing.clock(); }
  std::int64_t wall() const;
  std::uint32_t shard_of(const std::string& host) const;
  Milliseconds delay_of(const ModelHost& host) const;
  SteadyTime next_start(const ModelHost& host) const;
  SteadyTime open_start(const ModelHost& host) const;
  std::uint32_t open_leases() const;
  std::uint32_t open_leases(const std::string& host) const;
  std::uint32_t open_requests(const std::string& host) const;
  std::optional<std::string> why_not(const std::string& name, bool surely) const;
  void queue(const std::string& url);
  void unqueue(const std::string& url);
  void defer(const std::string& url, std::int64_t not_before);
  std::optional<std::string> check_lease(const Lease& lease, std::uint32_t shard);
  void note_request(const std::string& host, SteadyTime start);
  // Ends the lease, if it counts; its URL then is neither queued nor leased.
  std::optional<std::string> end(std::uint64_t lease, const Outcome& outcome, bool late_counts);
  void complete_url(const std::string& url, const Outcome& outcome);
  Fingerprint fingerprint(const std::string& url) const;
  void hold_link(const UrlRequest& request, const std::string& url, const std::string& parent);
  void admit(const UrlRequest& request, const Url& url, const std::string& parent);
  void set_aside(ModelAside aside, bool always);
  void set_url_aside(const std::string& url, SetAsideState state, const HoldReason& reason,
                     int status);
  void forget_set_aside(Fingerprint key);
  void count_set_aside(SetAsideState state, int by);
  Milliseconds least_backoff(const ModelHost& host) const;
  bool may_be_too_silent(const ModelHost& host, FailureReason reason, const Outcome& outcome) const;

  const EmbeddedOptions* options_;
  std::map<std::string, ModelUrl> urls_;
  std::map<Fingerprint, ModelAside> aside_;
  std::map<std::uint64_t, Fingerprint> held_lately_;  // as GroupWriter remembers them
  std::map<std::string, Queue> queues_;  // by host; those that are leased are not in it
  std::map<std::string, ModelHost> hosts_;
  std::set<std::string> host_names_;
  std::map<std::string, SteadyTime> domain_starts_;  // the latest, of leases given back too
  std::map<std::uint64_t, ModelLease> leases_;
  std::optional<SteadyTime> restarted_;
  std::uint64_t next_place_ = 0;
  FrontierStats totals_;
};

}  // namespace trawl::test
