// URLs in, leases out, and how leases end.
#include <algorithm>
#include <limits>
#include <memory>

#include "bindings/c/frontier_handle.h"

using namespace trawl;
using namespace trawl::c;

struct trawl_leases {
  std::vector<Lease> leases;
};

namespace {

// The most URLs of one call of trawl_frontier_lease().
constexpr std::size_t kMaxLeases = 1'000'000;

tl::expected<FailureReason, Failure> reason_of(std::int32_t reason) {
  switch (reason) {
    case TRAWL_TIMEOUT:
      return FailureReason::kTimeout;
    case TRAWL_CONNECTION:
      return FailureReason::kConnection;
    case TRAWL_TOO_MANY_REQUESTS:
      return FailureReason::kTooManyRequests;
    case TRAWL_SERVICE_UNAVAILABLE:
      return FailureReason::kUnavailable;
    case TRAWL_SERVER_ERROR:
      return FailureReason::kServerError;
    case TRAWL_PERMANENT:
      return FailureReason::kPermanent;
    case TRAWL_NO_SUCH_HOST:
      return FailureReason::kNoSuchHost;
    default:
      return invalid("an unknown reason: use TRAWL_TIMEOUT, TRAWL_CONNECTION, ...");
  }
}

tl::expected<OfferWait, Failure> wait_of(std::uint32_t flags) {
  if ((flags & ~std::uint32_t{TRAWL_NO_WAIT}) != 0) return invalid("flags has an unknown flag");
  return (flags & TRAWL_NO_WAIT) != 0 ? OfferWait::kAnswer : OfferWait::kDurable;
}

Checked offer(trawl_frontier& handle, std::span<const UrlRequest> requests, std::uint32_t flags,
              std::uint8_t* answers) {
  const auto wait = wait_of(flags);
  if (!wait) return tl::unexpected(wait.error());
  const auto admissions = handle.frontier->offer(requests, *wait);
  // relaxed: a caller that must see another thread's offer is ordered after it by its own means.
  if (*wait == OfferWait::kAnswer) handle.offers.fetch_add(1, std::memory_order_relaxed);
  if (!admissions) return failure(admissions.error());
  write_answers(*admissions, answers);
  return {};
}

Checked write_turn(const Result<StartTurn>& answer, trawl_turn* turn) {
  if (!answer) return failure(answer.error());
  trawl_turn out;
  trawl_turn_init(&out);
  switch (answer->when) {
    case StartTurn::When::kNow:
      out.when = TRAWL_START_NOW;
      break;
    case StartTurn::When::kSoon:
      out.when = TRAWL_START_SOON;
      break;
    case StartTurn::When::kLater:
      out.when = TRAWL_START_LATER;
      break;
  }
  out.wait_ms = ms_until(answer->at);
  out.internal[0] = answer->host;
  out.internal[1] = answer->domain;
  out.internal[2] = answer->address;
  return write_struct(turn, out, "turn");
}

}  // namespace

void trawl_request_init(trawl_request* request) {
  clear_struct(request);
}
void trawl_lease_init(trawl_lease* lease) {
  clear_struct(lease);
}
void trawl_outcome_init(trawl_outcome* outcome) {
  clear_struct(outcome);
}
void trawl_verdict_init(trawl_verdict* verdict) {
  clear_struct(verdict);
}
void trawl_turn_init(trawl_turn* turn) {
  clear_struct(turn);
}

trawl_status trawl_frontier_offer(trawl_frontier* frontier, const trawl_request* requests,
                                  size_t count, uint8_t* answers, uint32_t flags,
                                  trawl_error** error) {
  return with_frontier(frontier, error, [&](Frontier&) -> Checked {
    const auto wanted = requests_of(requests, count);
    if (!wanted) return tl::unexpected(wanted.error());
    return offer(*frontier, *wanted, flags, answers);
  });
}

trawl_status trawl_frontier_offer_urls(trawl_frontier* frontier, const trawl_str* urls,
                                       size_t count, uint8_t* answers, uint32_t flags,
                                       trawl_error** error) {
  return with_frontier(frontier, error, [&](Frontier&) -> Checked {
    if (auto given = require_requests(urls, count, "urls"); !given) return given;
    std::vector<UrlRequest> wanted(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto url = view_of(urls[i], "a URL");
      if (!url) return tl::unexpected(url.error());
      wanted[i].url = *url;
    }
    return offer(*frontier, wanted, flags, answers);
  });
}

trawl_status trawl_frontier_lease(trawl_frontier* frontier, size_t max, int64_t wait_ms,
                                  trawl_leases** leases, trawl_error** error) {
  return with_frontier(frontier, error, [&](Frontier& opened) -> Checked {
    if (auto given = require(leases, "leases"); !given) return given;
    if (max == 0) return invalid("max is 0: lease at least one URL");
    auto out = std::make_unique<trawl_leases>();  // first: leases are not to be lost
    const bool forever = wait_ms < 0;
    const SteadyTime until =
        std::chrono::steady_clock::now() + (forever ? kMaxDelay : trawl::c::wait_ms(wait_ms));
    auto leased = opened.lease({.max = std::min(max, kMaxLeases)});
    while (leased && leased->empty()) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      if (left.count() <= 0) break;
      const auto progress = progress_of(*frontier);
      if (!progress) return failure(progress.error());
      if (progress->at_end()) break;
      leased = opened.lease({.max = std::min(max, kMaxLeases), .wait = left});
    }
    if (!leased) return failure(leased.error());
    out->leases = std::move(*leased);
    *leases = out.release();
    return {};
  });
}

size_t trawl_leases_count(const trawl_leases* leases) {
  return leases == nullptr ? 0 : leases->leases.size();
}

trawl_status trawl_leases_get(const trawl_leases* leases, size_t index, trawl_lease* lease,
                              trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(leases, "leases"); !given) return given;
    if (index >= leases->leases.size()) return invalid("index is not below trawl_leases_count()");
    const Lease& found = leases->leases[index];
    trawl_lease out;
    trawl_lease_init(&out);
    out.id = found.id;
    out.url = str_of(found.url);
    out.host = str_of(found.host);
    out.parent = str_of(found.parent);
    out.note = str_of(found.note);
    out.priority = found.priority;
    out.depth = found.depth;
    out.redirects = found.redirects;
    out.attempts = found.attempts;
    out.recrawl = found.recrawl ? 1 : 0;
    out.paced = found.paced ? 1 : 0;
    return write_struct(lease, out, "lease");
  });
}

void trawl_leases_free(trawl_leases* leases) {
  delete leases;
}

trawl_status trawl_frontier_complete(trawl_frontier* frontier, uint64_t lease,
                                     const trawl_outcome* outcome, const trawl_request* links,
                                     size_t link_count, uint8_t* answers, trawl_error** error) {
  return with_frontier(frontier, error, [&](Frontier& opened) -> Checked {
    if (auto given = require(outcome, "outcome"); !given) return given;
    const auto ended = outcome_of(outcome);
    if (!ended) return tl::unexpected(ended.error());
    const auto found = requests_of(links, link_count);
    if (!found) return tl::unexpected(found.error());
    const auto admissions = opened.complete(lease, *ended, *found);
    if (!admissions) return failure(admissions.error());
    write_answers(*admissions, answers);
    return {};
  });
}

trawl_status trawl_frontier_fail(trawl_frontier* frontier, uint64_t lease, int32_t reason,
                                 int64_t retry_after_ms, const trawl_outcome* outcome,
                                 trawl_verdict* verdict, trawl_error** error) {
  return with_frontier(frontier, error, [&](Frontier& opened) -> Checked {
    const auto why = reason_of(reason);
    if (!why) return tl::unexpected(why.error());
    const auto ended = outcome_of(outcome);
    if (!ended) return tl::unexpected(ended.error());
    trawl_verdict out;
    trawl_verdict_init(&out);
    if (verdict != nullptr) {  // before the lease ends, so that a failed call has no effect
      if (auto fits = require_struct(verdict, "verdict"); !fits) return fits;
    }
    std::optional<std::chrono::milliseconds> after;
    if (retry_after_ms >= 0) after = wait_ms(retry_after_ms);
    const auto decided = opened.fail(lease, *why, after, *ended);
    if (!decided) return failure(decided.error());
    if (decided->retry_at) out.retry_at_ms = unix_ms(*decided->retry_at);
    if (decided->host_blocked_until)
      out.host_blocked_until_ms = unix_ms(*decided->host_blocked_until);
    out.awaits_end = decided->awaits_end ? 1 : 0;
    out.host_parked = decided->host_parked ? 1 : 0;
    return verdict == nullptr ? Checked{} : write_struct(verdict, out, "verdict");
  });
}

trawl_status trawl_frontier_hold(trawl_frontier* frontier, uint64_t lease, trawl_str reason,
                                 uint64_t rules, uint32_t flags, const trawl_outcome* outcome,
                                 trawl_error** error) {
  return with_frontier(frontier, error, [&](Frontier& opened) -> Checked {
    if ((flags & ~std::uint32_t{TRAWL_HOLD_ALWAYS}) != 0)
      return invalid("flags has an unknown flag");
    const auto word = view_of(reason, "reason");
    if (!word) return tl::unexpected(word.error());
    const auto ended = outcome_of(outcome);
    if (!ended) return tl::unexpected(ended.error());
    return checked(opened.hold(
        lease, {.reason = *word, .rules = rules, .always = (flags & TRAWL_HOLD_ALWAYS) != 0},
        *ended));
  });
}

trawl_status trawl_frontier_release(trawl_frontier* frontier, uint64_t lease, int64_t next_start_ms,
                                    int64_t asked_after_us, trawl_error** error) {
  return with_frontier(frontier, error, [&](Frontier& opened) -> Checked {
    std::optional<SteadyTime> next;
    if (next_start_ms >= 0) next = std::chrono::steady_clock::now() + wait_ms(next_start_ms);
    std::optional<std::chrono::microseconds> asked;
    if (asked_after_us >= 0) asked = wait_us(asked_after_us);
    return checked(opened.release(lease, next, asked));
  });
}

trawl_status trawl_frontier_fetched(trawl_frontier* frontier, uint64_t lease,
                                    int64_t started_after_us, trawl_error** error) {
  return with_frontier(frontier, error, [&](Frontier& opened) {
    return checked(opened.fetched(lease, wait_us(started_after_us)));
  });
}

trawl_status trawl_frontier_renew(trawl_frontier* frontier, uint64_t lease, trawl_error** error) {
  return with_frontier(frontier, error,
                       [&](Frontier& opened) { return checked(opened.renew(lease)); });
}

trawl_status trawl_frontier_start(trawl_frontier* frontier, uint64_t lease, trawl_str address,
                                  trawl_turn* turn, trawl_error** error) {
  return with_frontier(frontier, error, [&](Frontier& opened) -> Checked {
    const auto to = view_of(address, "address");
    if (!to) return tl::unexpected(to.error());
    if (auto fits = require_struct(turn, "turn"); !fits) return fits;
    return write_turn(opened.start(lease, *to), turn);
  });
}

trawl_status trawl_frontier_start_elsewhere(trawl_frontier* frontier, trawl_str host,
                                            trawl_str address, trawl_turn* turn,
                                            trawl_error** error) {
  return with_frontier(frontier, error, [&](Frontier& opened) -> Checked {
    const auto name = view_of(host, "host");
    if (!name) return tl::unexpected(name.error());
    const auto to = view_of(address, "address");
    if (!to) return tl::unexpected(to.error());
    if (auto fits = require_struct(turn, "turn"); !fits) return fits;
    return write_turn(opened.start_elsewhere(*name, *to), turn);
  });
}

trawl_status trawl_frontier_sent(trawl_frontier* frontier, const trawl_turn* turn, int64_t ago_ms,
                                 trawl_str address, trawl_error** error) {
  return with_frontier(frontier, error, [&](Frontier& opened) -> Checked {
    const auto given = read_struct(turn, trawl_turn_init, "turn");
    if (!given) return tl::unexpected(given.error());
    if (given->when != TRAWL_START_NOW)
      return invalid("turn->when is not TRAWL_START_NOW: the request may not start yet");
    const auto to = view_of(address, "address");
    if (!to) return tl::unexpected(to.error());
    const SteadyTime now = std::chrono::steady_clock::now();
    std::optional<SteadyTime> when;
    if (ago_ms >= 0) when = now - wait_ms(ago_ms);
    return checked(opened.sent({.when = StartTurn::When::kNow,
                                .at = now,
                                .host = given->internal[0],
                                .domain = given->internal[1],
                                .address = given->internal[2]},
                               when, *to));
  });
}
