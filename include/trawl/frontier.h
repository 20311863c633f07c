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
#include "trawl/frontier_stats.h"
#include "trawl/lease.h"
#include "trawl/result.h"
#include "trawl/set_aside.h"

namespace trawl {

// A queue of URLs that admits each URL once, keeps a delay between requests to a host, and leases
// every admitted URL, again and again after crashes, until it is completed. EmbeddedFrontier is the
// durable one; MemoryFrontier is for tests and demos.
//
// All calls are thread-safe. Any may fail with kUnavailable, where what is behind the frontier is
// out of reach for now: it changed nothing, and may be tried again. Any other error of what is
// behind it (disk full, I/O error) stops the frontier: that call and all later ones return it;
// nothing that was durable is lost.
class Frontier {
 public:
  // Ends what close() did not end. Everything durable stays so.
  virtual ~Frontier() = default;

  // Admits the URLs that are new; an answer for each.
  [[nodiscard]] virtual Result<std::vector<Admission>> offer(
      std::span<const UrlRequest> requests, OfferWait wait = OfferWait::kDurable) = 0;

  // Up to `max` URLs whose hosts may be asked now, at most leases_per_host a host. The caller
  // starts each request at once. None: nothing came within `wait`, or nothing will, as progress()
  // then says.
  //
  // The delays of hosts, domains and addresses lie between hand-outs as long as leases are open,
  // and count from the real start of a request as soon as that is reported: by
  // Outcome::started_after, by release(), or by start(), before its lease ends. A report only ever
  // moves the next hand-out back. So real starts are the delay apart if each is the same time after
  // its hand-out, or if start() is asked before each request.
  [[nodiscard]] virtual Result<std::vector<Lease>> lease(const LeaseRequest& request) = 0;

  // Ends a lease and admits the links found: these become durable no later than the end, which does
  // shortly after the return (flush() waits for it). Returns what became of each link. If the lease
  // expired, and its URL has neither been completed nor failed since, this counts all the same; if
  // it ended before, the links are admitted and nothing else happens. All links are one operation,
  // which others wait for: of a page with very many, more than 100,000 are better offered apart.
  // Errors: kNotFound if no such lease was given; kInvalidArgument if Outcome::note is too long.
  [[nodiscard]] virtual Result<std::vector<Admission>> complete(
      std::uint64_t lease_id, const Outcome& outcome, std::span<const UrlRequest> links = {}) = 0;
  // Ends a lease whose fetch failed: its URL is tried again later, or ends as failed, and its host
  // may be left alone for a while (FailureReason, RetryOptions). With Outcome::requested false what
  // failed was the host, before it was asked for this URL (its name, the connection, its
  // robots.txt): the URL goes back to its place and keeps its tries, unless the reason is
  // kPermanent, or host_failures is 0 and the host has not answered yet. `retry_after`, as the
  // header Retry-After has it, is the least time for both. Outcome::recrawl_at is for when the URL
  // is given up. A lease that ended before, or expired: nothing happens, and the verdict is empty.
  // Errors: as complete().
  [[nodiscard]] virtual Result<FailureVerdict> fail(
      std::uint64_t lease_id, FailureReason reason,
      std::optional<std::chrono::milliseconds> retry_after = std::nullopt,
      const Outcome& outcome = {}) = 0;
  // Ends a lease without a request, since a rule of the caller's passes its URL over: it is set
  // aside as held, and leased again only if retry() says so. Errors: as complete();
  // kInvalidArgument if the reason is empty.
  [[nodiscard]] virtual Result<void> hold(std::uint64_t lease_id, const HoldReason& reason,
                                          const Outcome& outcome = {}) = 0;
  // Gives a lease back unfetched: its URL is leased again later. With `next_start` the host waits
  // until then, and with `started_after` also its delay, as its domain and address do, from so long
  // after the lease, which is when it was asked for something else instead (robots.txt, say).
  // Without either, as if the lease had not been given; start() counts all the same. Errors:
  // kNotFound if the lease is not open.
  [[nodiscard]] virtual Result<void> release(
      std::uint64_t lease_id, std::optional<SteadyTime> next_start = std::nullopt,
      std::optional<std::chrono::microseconds> started_after = std::chrono::microseconds(0)) = 0;
  // The lease expires LimitOptions::lease_timeout from now. Errors: kNotFound if it is not open.
  [[nodiscard]] virtual Result<void> renew(std::uint64_t lease_id) = 0;

  // For callers that look names up, wait for connections, or ask hosts on behalf of others: asked
  // before the request of a lease is made, with the address that it goes to as text (empty: not
  // known), it says when the delays of the host, the domain and that address let it begin, counted
  // from the real starts of the requests before. With kNow it counts as begun, and until sent()
  // says so, no other one to its host, domain or address is let begin, for a second longer than the
  // delay at most, or for a tenth of one if the delay is shorter than that. A lease with kLater is
  // best given back by release(lease_id, turn.at, std::nullopt): its host stands in line for the
  // address from then on, and is leased when its turn has come. Not needed where Lease::paced is
  // false. Errors: kNotFound if the lease is not open.
  [[nodiscard]] virtual Result<StartTurn> start(std::uint64_t lease_id,
                                                std::string_view address) = 0;
  // The same for a request to `host` (as Lease::host) that is not of a lease of it, because another
  // host's robots.txt redirects to it, say. Of several that are told to come again each has a time
  // of its own, and the host's own URLs have turns in between. Blocks do not count, nor that it is
  // parked.
  [[nodiscard]] virtual Result<StartTurn> start_elsewhere(std::string_view host,
                                                          std::string_view address) = 0;
  // The request that was told kNow was sent `when`, to that address if it is another after all
  // (empty: it is not); the delays count from then. Nothing: it will not be sent; it counts as
  // begun.
  [[nodiscard]] virtual Result<void> sent(const StartTurn& turn, std::optional<SteadyTime> when,
                                          std::string_view address = {}) = 0;

  // Hosts are named as in Lease::host; other queues as in UrlRequest::queue. Errors of all:
  // kInvalidArgument for what is no such name, or a setting out of its range.
  [[nodiscard]] virtual Result<void> set_host(std::string_view host,
                                              const HostSettings& settings) = 0;
  // Counts its URLs, which takes a while for a long queue. kNotFound if nothing is known of it.
  [[nodiscard]] virtual Result<HostInfo> host(std::string_view name) const = 0;
  // Hosts with URLs that wait or with settings of their own, at most `limit`, in an order of no
  // meaning: those behind `after`, the name of the last one of the call before; empty: from the
  // first on.
  [[nodiscard]] virtual Result<std::vector<HostInfo>> hosts(std::string_view after,
                                                            std::size_t limit) const = 0;
  // Deletes the URLs that wait in its queue or are deferred, except those leased now; they stay
  // "seen". Returns how many there were. Durable.
  [[nodiscard]] virtual Result<std::uint64_t> drop_host(std::string_view host) = 0;
  // Calls `visit` with the URLs that wait in a host's queue, leased ones included, those deferred
  // not, in the order of the queue, until it answers false. It must not call the frontier.
  [[nodiscard]] virtual Result<void> visit_queue(
      std::string_view host, const std::function<bool(std::string_view url)>& visit) const = 0;

  // URLs that are held, and those that ended as failed: with an error, or a status of 400 or above.
  // At most `limit`, in an order of no meaning: those behind `after`, SetAsideUrl::position of the
  // last one of the call before; empty: from the first on.
  [[nodiscard]] virtual Result<std::vector<SetAsideUrl>> set_aside(std::string_view after,
                                                                   std::size_t limit) const = 0;
  // Queues those again that `which` names, durably, with all their tries; links that were held
  // before they were admitted are offered. Reads all that are set aside, unless RetryWhich::key
  // names one. Returns how many it queued: those offered count if they were new.
  [[nodiscard]] virtual Result<std::uint64_t> retry(const RetryWhich& which) = 0;
  // Whether another URL may be set aside, as of what is durable. Cheap, unlike stats(): for a
  // caller that holds with HoldReason::always what must not be lost, and does something else where
  // there is no room.
  [[nodiscard]] virtual Result<bool> has_room_to_set_aside() const = 0;

  // What is known of a URL, or of the bytes of a UrlRequest::key. May read all that waits: for
  // people, not for every page.
  [[nodiscard]] virtual Result<UrlState> lookup(std::string_view url_or_key) = 0;
  [[nodiscard]] virtual Result<Progress> progress() const = 0;
  [[nodiscard]] virtual Result<FrontierStats> stats() const = 0;

  // Returns when everything completed or offered before is durable.
  [[nodiscard]] virtual Result<void> flush() = 0;
  // Makes the next open() quick, while other threads go on; as flush() where there is nothing to
  // take. One at a time; a second call waits for the first. An error is of this call alone.
  [[nodiscard]] virtual Result<void> checkpoint() = 0;
  // The same soon, without waiting for it.
  [[nodiscard]] virtual Result<void> request_checkpoint() = 0;
  // Flushes, takes a checkpoint and lets go of what is behind the frontier. What other threads are
  // told at the same time holds; later calls return kClosed, except progress() and stats(), which
  // tell how it stood.
  [[nodiscard]] virtual Result<void> close() = 0;

  // For loops that cannot block in lease(): `callback` is called when something may be leased that
  // could not be before, or the end was reached: a hint to call lease(), or progress(). On a thread
  // of the frontier's, or in calls of others; it must not block, call the frontier, or throw. An
  // empty one ends that; when this returns, the callback before is not called any more.
  //
  // With a shard it is called for that one alone, and not for delays that pass: for a thread with a
  // timer of its own, and next_due().
  [[nodiscard]] virtual Result<void> on_wake(std::function<void()> callback,
                                             std::optional<std::uint32_t> shard = std::nullopt) = 0;
  // When lease() may next have something, as far as is known, perhaps a time that has passed;
  // nothing while all is waiting for completions or offers.
  [[nodiscard]] virtual Result<std::optional<SteadyTime>> next_due(
      std::optional<std::uint32_t> shard = std::nullopt) const = 0;
};

}  // namespace trawl
