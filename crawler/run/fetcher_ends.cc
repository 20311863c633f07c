// Fetcher: how leases end.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "trawl/url.h"

#include "crawler/log/room_log.h"
#include "crawler/run/fetcher.h"
#include "crawler/run/held_urls.h"
#include "url/url_credentials.h"

namespace trawl {

namespace {

std::uint64_t count_new(const std::vector<Admission>& admissions) {
  return static_cast<std::uint64_t>(std::ranges::count(admissions, Admission::kNew));
}

// A failure in a few words.
std::string trouble_of(const Outcome& outcome) {
  if (!outcome.reason.empty()) return std::string(outcome.reason);
  if (outcome.status >= 400) return fmt::format("status {}", outcome.status);
  return scrubbed(outcome.error);
}

}  // namespace

void Fetcher::retry(const OpenLease& open, PageHandler::Result result) {
  room_log(LogRoom::kHttp)
      .debug("{}: {}", without_credentials(open.lease.url), scrubbed(result.outcome.error));
  if (result.truncated && !offer_links(open, *result.output)) return lease_ended(open);
  result.outcome.known_links = result.truncated ? handler_.links().known() : 0;
  result.outcome.end_later = context_.output.keeps(*result.output);
  const auto verdict =
      context_.frontier.fail(open.lease.id, *result.failure, result.retry_after, result.outcome);
  if (!verdict) {
    lease_ended(open);
    return context_.stop_with(verdict.error());
  }
  if (verdict->host_parked || verdict->host_blocked_until) {
    note_trouble(open, trouble_of(result.outcome), result.outcome.error,
                 verdict->host_blocked_until, verdict->host_parked);
  }
  if (verdict->retry_at) {
    context_.fetches.add_retry();
    context_.pages.give_back(1);
  } else {
    note_failure(open, result.outcome);
    result.outcome.requested ? context_.pages.finish_one() : context_.pages.give_back(1);
    if (result.truncated) context_.fetches.add_truncated();
  }
  if (verdict->awaits_end) submit(open, std::move(result));
  lease_ended(open);
}

// N3: the links are durable no later than the lease's end, which follows.
bool Fetcher::offer_links(const OpenLease& open, PageOutput& output) {
  LinkFollower& links = handler_.links();
  std::vector<UrlRequest> requests(links.requests().begin(), links.requests().end());
  for (UrlRequest& request : requests)
    request.parent = open.lease.url;
  const auto admissions = context_.frontier.offer(requests, OfferWait::kAnswer);
  if (!admissions) {
    context_.stop_with(admissions.error());
    return false;
  }
  links.offered(*admissions);
  output.page.new_links = count_new(*admissions);
  return true;
}

void Fetcher::note_failure(const OpenLease& open, const Outcome& outcome) {
  if (outcome.error.empty() && outcome.status < 400) return;
  const std::string why =
      outcome.error.empty() ? fmt::format("status {}", outcome.status) : scrubbed(outcome.error);
  const std::string url = without_credentials(open.lease.url);
  context_.note_failed_fetch(url, why);
  if (outcome.seed) context_.failed_seeds.add(url, why);
}

// `until`: of the host's next try, unless it is parked.
void Fetcher::note_trouble(const OpenLease& open, std::string_view why, std::string_view error,
                           std::optional<SystemTime> until, bool parked) {
  const auto park_time = context_.config.politeness.park_time;
  if (parked) {
    until = park_time.count() == 0 ? std::nullopt
                                   : std::optional(std::chrono::system_clock::now() + park_time);
  }
  const std::string details =
      fmt::format("{}: {}", without_credentials(open.lease.url), scrubbed(error));
  context_.host_troubles.failed(open.lease.host, why, details, until, parked);
}

void Fetcher::complete(const OpenLease& open, PageHandler::Result result) {
  LinkFollower& links = handler_.links();
  result.outcome.known_links = links.known();
  const Outcome& outcome = result.outcome;
  if (!outcome.error.empty()) {
    room_log(LogRoom::kHttp)
        .debug("{}: {}", without_credentials(open.lease.url), scrubbed(outcome.error));
  } else if (outcome.requested) {
    context_.fetches.add_succeeded();
  }
  note_failure(open, outcome);
  if (result.truncated) context_.fetches.add_truncated();
  // N3: first the links, then the output, then the end of the lease.
  const bool has_output = context_.output.keeps(*result.output);
  result.outcome.end_later = has_output;
  const auto admissions = context_.frontier.complete(open.lease.id, outcome, links.requests());
  if (admissions) links.offered(*admissions);
  if (outcome.requested) {
    context_.pages.finish_one();
  } else {
    context_.pages.give_back(1);
  }
  if (admissions && has_output) {
    result.output->page.new_links = count_new(*admissions);
    submit(open, std::move(result));
  }
  lease_ended(open);
  if (!admissions) context_.stop_with(admissions.error());
}

// N3: the lease ends when its output is written.
void Fetcher::submit(const OpenLease& open, PageHandler::Result result) {
  PageOutput& page = *result.output;
  page.lease = open.lease;
  page.outcome = std::move(result.outcome);
  page.in_flight = open.in_flight;
  context_.output.submit(std::move(result.output), [&context = context_, id = open.lease.id] {
    // N3: what the page leaves is in the files.
    if (const auto ended = context.frontier.complete(id, {}); !ended)
      context.stop_with(ended.error());
  });
}

void Fetcher::hold(const OpenLease& open, PageHandler::Result result, const HoldReason& reason) {
  const bool has_output = context_.output.keeps(*result.output);
  result.outcome.end_later = has_output;
  const auto held = context_.frontier.hold(open.lease.id, reason, result.outcome);
  if (held && has_output) submit(open, std::move(result));
  context_.pages.give_back(1);
  lease_ended(open);
  if (!held) context_.stop_with(held.error());
}

void Fetcher::hold_or_park(const OpenLease& open, PageHandler::Result result, HoldReason reason,
                           SteadyTime ask_at) {
  const auto has_room = context_.frontier.has_room_to_set_aside();
  if (!has_room) context_.stop_with(has_room.error());
  if (!has_room || !*has_room) {
    park(open, result.outcome.error);
    return release(open, ask_at, std::nullopt);
  }
  reason.always = true;  // there is room now, but other threads may use it meanwhile
  context_.note_failed_fetch(open.lease.url, result.outcome.error);
  hold(open, std::move(result), reason);
}

void Fetcher::hold_refused(const OpenLease& open, std::string_view error) {
  const HoldReason reason = refused_address(context_.config);
  hold_or_park(open, handler_.give_up(open, error, reason.reason), reason, open.leased_at);
}

void Fetcher::park(const OpenLease& open, std::string_view reason) {
  const std::string& host = open.lease.host;
  context_.note_failed_fetch(open.lease.url, std::string(reason));
  note_trouble(open, reason, reason, std::nullopt, true);
  if (const auto parked =
          context_.frontier.set_host(host, {.blocked_until = HostSettings::kParked});
      !parked)
    context_.stop_with(parked.error());
}

void Fetcher::fail_no_such_host(const OpenLease& open, const RobotsAnswer& robots,
                                SteadyTime asked_at) {
  PageHandler::Result result = handler_.give_up(open, robots.reason, to_string(robots.failure));
  result.failure = FailureReason::kNoSuchHost;
  result.outcome.requested = false;
  result.outcome.seed = open.lease.depth == 0;
  result.outcome.started_after = started_after(open, asked_at);
  handler_.plan_failed(open, result.outcome);
  retry(open, std::move(result));
}

void Fetcher::end(const OpenLease& open, std::string_view error, std::string_view reason,
                  std::optional<SteadyTime> asked_at) {
  PageHandler::Result result = handler_.give_up(open, error, reason);
  result.outcome.requested = asked_at.has_value();
  if (asked_at) result.outcome.started_after = started_after(open, *asked_at);
  handler_.plan_failed(open, result.outcome);
  complete(open, std::move(result));
}

void Fetcher::skip(const OpenLease& open, const Url& url, const UrlVerdict& verdict) {
  PageHandler::Result result = handler_.give_up(open, "", "");
  handler_.links().begin(open.lease.parent, result.output.get());
  handler_.links().skip(url.href_without_fragment(), *verdict.reason, verdict.rule);
  result.output->listed = false;
  result.outcome.requested = false;
  if (result.outcome.recrawl_at) return complete(open, std::move(result));
  hold(open, std::move(result),
       {.reason = to_string(*verdict.reason),
        .rules = context_.rules.decider.held_by(*verdict.reason)});
}

void Fetcher::end_recrawls(const OpenLease& open) {
  PageHandler::Result result = handler_.give_up(open, "", "");
  result.output->listed = false;
  result.outcome.requested = false;
  result.outcome.recrawl_at.reset();
  complete(open, std::move(result));
}

void Fetcher::release(const OpenLease& open, SteadyTime next_start,
                      std::optional<SteadyTime> asked_at) {
  context_.pages.give_back(1);
  std::optional<std::chrono::microseconds> after;
  if (asked_at) after = started_after(open, *asked_at);
  const auto released = context_.frontier.release(open.lease.id, next_start, after);
  lease_ended(open);
  // An expired lease is in its queue already, or leased to another thread.
  if (!released && released.error().code != ErrorCode::kNotFound)
    context_.stop_with(released.error());
}

void Fetcher::lease_ended(const OpenLease& open) {
  leases_.erase(open.lease.id);
  if (open.fetched) {
    --fetched_leases_;
  } else {
    request_ended();
  }
  // release: pairs with the acquire in CrawlImpl::ended().
  context_.in_flight.fetch_sub(1, std::memory_order_release);
}

void Fetcher::request_ended() {
  has_room_ = true;
  context_.connections.give_back(shard_, 1);
}

}  // namespace trawl
