// Frontier: URLs in, leases out; each URL once, none lost.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "trawl/clocks.h"
#include "trawl/frontier_options.h"
#include "trawl/frontier_stats.h"
#include "trawl/lease.h"
#include "trawl/result.h"
#include "trawl/set_aside.h"

namespace trawl {

// A queue of URLs that admits each URL once, keeps a delay between requests to a host, and leases
// every admitted URL until it is completed, again after crashes too. EmbeddedFrontier is the
// durable one; MemoryFrontier is for tests and demos.
//
// All calls are thread-safe. Any call may fail with kUnavailable if the storage is temporarily out
// of reach: it then changed nothing and can be retried. Any other storage error (disk full, I/O
// error) stops the frontier: that call and all later ones return the error. Durable data is never
// lost.
class Frontier {
 public:
  // Releases everything that close() did not release. Durable data stays.
  virtual ~Frontier() = default;

  // Admits the URLs that are new. Returns an answer for each, in order. Hundreds of URLs become
  // durable in parts: if the storage fails in between, the first ones are admitted all the same,
  // and seen when they are offered again.
  [[nodiscard]] virtual Result<std::vector<Admission>> offer(
      std::span<const UrlRequest> requests, OfferWait wait = OfferWait::kDurable) = 0;

  // Leases up to `max` URLs whose hosts may be requested now, at most leases_per_host a host,
  // not counting those passed to fetched(). The caller starts each request immediately. Returns
  // none if nothing became due within `wait`, or if nothing will; progress() says which.
  //
  // The delays of hosts, domains and addresses count from the time of the lease until the real
  // start of the request is reported by Outcome::started_after, fetched(), release() or start(),
  // and from that start afterwards. A report can only make the next lease later. So real starts are
  // the delay apart if each request starts equally long after its lease, or if the caller asks
  // start() before each request.
  [[nodiscard]] virtual Result<std::vector<Lease>> lease(const LeaseRequest& request) = 0;

  // Ends a lease and admits the links found. The completion becomes durable shortly after the
  // return (flush() waits for it), and the links no later than the completion. Returns an answer
  // for each link. If the lease has expired and its URL was neither completed nor failed since, the
  // completion still counts; if the lease ended before, only the links are admitted. Thousands of
  // links become durable in parts, between which other calls come in; the call then waits for all
  // but the last of them. Errors: kNotFound if there never was such a lease; kInvalidArgument if
  // Outcome::note is too long.
  [[nodiscard]] virtual Result<std::vector<Admission>> complete(
      std::uint64_t lease_id, const Outcome& outcome, std::span<const UrlRequest> links = {}) = 0;
  // Ends a lease whose fetch failed: the URL is retried later or ends as failed, and its host may
  // be blocked for a while (FailureReason, RetryOptions). With Outcome::requested false the host
  // failed before this URL was requested (its name, the connection, its robots.txt): the URL
  // returns to its place in the queue and keeps its retries, unless the reason is kPermanent, or
  // host_failures is 0 and the host has never answered. `retry_after`, as in the header
  // Retry-After, is the minimum wait of URL and host. Outcome::recrawl_at applies if the URL is not
  // retried. If the lease has ended or expired, nothing happens and the verdict is empty. Errors:
  // as complete().
  [[nodiscard]] virtual Result<FailureVerdict> fail(
      std::uint64_t lease_id, FailureReason reason,
      std::optional<std::chrono::milliseconds> retry_after = std::nullopt,
      const Outcome& outcome = {}) = 0;
  // Ends a lease without a request because one of the caller's rules excludes its URL. The URL is
  // set aside as held; only retry() queues it again. Errors: as complete(); kInvalidArgument if the
  // reason is empty.
  [[nodiscard]] virtual Result<void> hold(std::uint64_t lease_id, const HoldReason& reason,
                                          const Outcome& outcome = {}) = 0;
  // Returns a lease unfetched: its URL is leased again later. With `next_start` the host waits
  // until then. `started_after` is when, after the lease, the host was asked for something else
  // instead (for example robots.txt): host, domain and address wait their delay from then on.
  // Without either, it is as if the lease had not been given, except that a start() or fetched()
  // still counts. Errors: kNotFound if the lease is not open.
  [[nodiscard]] virtual Result<void> release(
      std::uint64_t lease_id, std::optional<SteadyTime> next_start = std::nullopt,
      std::optional<std::chrono::microseconds> started_after = std::chrono::microseconds(0)) = 0;
  // Makes the lease expire LimitOptions::lease_timeout from now. Errors: kNotFound if it is not
  // open.
  [[nodiscard]] virtual Result<void> renew(std::uint64_t lease_id) = 0;
  // Reports that the request of a lease has ended, for callers that process responses later, or on
  // other threads. The lease stays open but no longer counts for leases_per_host, so that the
  // host's next URL may be leased meanwhile. HostSettings::limit and max_open_leases hold as
  // before. `started_after` is as Outcome::started_after: the delays of host, domain and address
  // count from then on, also if the lease is released. A failure, and a response time for
  // adaptive_delay, count from the end of the lease. While a host has kMaxFetchedLeases such
  // leases, another one still counts for leases_per_host. A second call for a lease has no effect.
  // Errors: kNotFound if the lease is not open.
  [[nodiscard]] virtual Result<void> fetched(
      std::uint64_t lease_id,
      std::chrono::microseconds started_after = std::chrono::microseconds(0)) = 0;

  // Asks whether the request of a lease may start now. For callers with a variable time between
  // lease and request: name lookups, waits for connections, requests to other hosts. `address` is
  // the IP address that the request goes to, as text (empty: unknown). The answer follows from the
  // delays of host, domain and address, counted from the real starts of earlier requests. With kNow
  // the request counts as started, and until sent() reports its real start no other request to its
  // host, domain or address may start; this block ends a second after the delay (a tenth of a
  // second, for delays shorter than that). After kLater call release(lease_id, turn.at,
  // std::nullopt): the host then waits in line for the address and is leased again when its turn
  // comes. Not needed if Lease::paced is false. Errors: kNotFound if the lease is not open.
  [[nodiscard]] virtual Result<StartTurn> start(std::uint64_t lease_id,
                                                std::string_view address) = 0;
  // The same for a request to `host` (as in Lease::host) without a lease of that host, for example
  // because another host's robots.txt redirects to it. If several such requests have to wait, each
  // gets a time of its own, with turns of the host's own URLs in between. Ignores whether the host
  // is blocked or parked.
  [[nodiscard]] virtual Result<StartTurn> start_elsewhere(std::string_view host,
                                                          std::string_view address) = 0;
  // Reports that the request of a `turn` with kNow was sent at `when`; the delays count from then.
  // A non-empty `address` replaces the one given to start(). Without `when` the request was not
  // sent; it counts as started at the time of the turn.
  [[nodiscard]] virtual Result<void> sent(const StartTurn& turn, std::optional<SteadyTime> when,
                                          std::string_view address = {}) = 0;

  // Hosts are named as in Lease::host, other queues as in UrlRequest::queue. Errors of all these
  // calls: kInvalidArgument for an invalid name or a setting out of its range.
  [[nodiscard]] virtual Result<void> set_host(std::string_view host,
                                              const HostSettings& settings) = 0;
  // Counts the host's URLs, which takes a while for a long queue. Errors: kNotFound if the frontier
  // has no record of the host.
  [[nodiscard]] virtual Result<HostInfo> host(std::string_view name) const = 0;
  // Pages through the hosts that have waiting URLs or settings of their own, in unspecified order:
  // returns at most `limit` hosts that follow `after`, the name of the last host of the previous
  // call; empty: from the first.
  [[nodiscard]] virtual Result<std::vector<HostInfo>> hosts(std::string_view after,
                                                            std::size_t limit) const = 0;
  // At most `limit` hosts that have waiting URLs (or failures, for HostOrder::kFailures), in that
  // order, from counters: reads no queue, and at most one record for each host returned. Takes time
  // in proportion to the number of hosts in memory. For status displays.
  [[nodiscard]] virtual Result<std::vector<HostCounts>> busiest_hosts(HostOrder order,
                                                                      std::size_t limit) const = 0;
  // The same for one host. Errors: kNotFound if the frontier has neither waiting URLs nor a record
  // of it.
  [[nodiscard]] virtual Result<HostCounts> host_counts(std::string_view name) const = 0;
  // Replaces the delays and what happens after failures, for all requests that start from now on. A
  // delay of domains or addresses can be changed, but neither introduced nor removed. Errors:
  // kInvalidArgument, and nothing is changed.
  [[nodiscard]] virtual Result<void> set_politeness(const PolitenessOptions& politeness,
                                                    const RetryOptions& retry) = 0;
  // Deletes the host's queued and deferred URLs, except those leased now; they stay seen. Returns
  // the number deleted, when the deletion is durable.
  [[nodiscard]] virtual Result<std::uint64_t> drop_host(std::string_view host) = 0;
  // Calls `visit` with the URLs of a host's queue, in its order, including leased and excluding
  // deferred ones, until it returns false. `visit` must not call the frontier.
  [[nodiscard]] virtual Result<void> visit_queue(
      std::string_view host, const std::function<bool(std::string_view url)>& visit) const = 0;

  // Pages through the URLs set aside: those held, and those that ended as failed (with an error, or
  // a status of 400 or above), in unspecified order. Returns at most `limit` URLs that follow
  // `after`, the SetAsideUrl::position of the last URL of the previous call; empty: from the first.
  [[nodiscard]] virtual Result<std::vector<SetAsideUrl>> set_aside(std::string_view after,
                                                                   std::size_t limit) const = 0;
  // Queues the URLs set aside that match `which` again, durably, with all their retries; links that
  // were held before they were admitted are offered. Reads all URLs set aside unless
  // RetryWhich::key is set. Returns the number queued; offered links count if they were new.
  [[nodiscard]] virtual Result<std::uint64_t> retry(const RetryWhich& which) = 0;
  // Whether there is room to set another URL aside, according to the durable counts. Cheap, unlike
  // stats(). For callers that hold with HoldReason::always only while there is room.
  [[nodiscard]] virtual Result<bool> has_room_to_set_aside() const = 0;

  // The state of a URL, or of the bytes of a UrlRequest::key. May read all waiting URLs: meant for
  // people's questions, not for every page.
  [[nodiscard]] virtual Result<UrlState> lookup(std::string_view url_or_key) = 0;
  // Whether there is more to do.
  [[nodiscard]] virtual Result<Progress> progress() const = 0;
  // Totals and the present state.
  [[nodiscard]] virtual Result<FrontierStats> stats() const = 0;

  // Returns when everything completed or offered before is durable.
  [[nodiscard]] virtual Result<void> flush() = 0;
  // Writes a snapshot of the filter so that the next open() is quick; other threads go on
  // meanwhile. If no URL was admitted since the last one, and in implementations without snapshots,
  // it only flushes. A concurrent second call waits for the first. An error affects only this call.
  [[nodiscard]] virtual Result<void> checkpoint() = 0;
  // The same, soon and in the background.
  [[nodiscard]] virtual Result<void> request_checkpoint() = 0;
  // Flushes, takes a checkpoint if one is due or was requested (CheckpointOptions), and releases
  // the storage. Waits some seconds at most for one that nobody requested. Answers given to other
  // threads meanwhile remain valid. Later calls return kClosed, except progress() and stats(),
  // which return the last state.
  [[nodiscard]] virtual Result<void> close() = 0;

  // For event loops that cannot block in lease(): `callback` is called when a URL may have become
  // due or the end was reached, as a hint to call lease() or progress(). It runs on one of the
  // frontier's threads or inside other threads' calls, and must not block, call the frontier, or
  // throw. An empty callback removes it; after this call returns, the previous callback is never
  // called again.
  //
  // With a shard the callback is for that shard only, and is not called when a delay ends: for a
  // thread that sets its own timer from next_due().
  [[nodiscard]] virtual Result<void> on_wake(std::function<void()> callback,
                                             std::optional<std::uint32_t> shard = std::nullopt) = 0;
  // The time from which lease() may return something, as far as is known; it may be in the past.
  // Empty while everything waits for completions or offers.
  [[nodiscard]] virtual Result<std::optional<SteadyTime>> next_due(
      std::optional<std::uint32_t> shard = std::nullopt) const = 0;
};

}  // namespace trawl
