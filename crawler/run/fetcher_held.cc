// Fetcher: origins that must not be requested now, while other origins of the same host may. The
// URLs of such an origin are held one by one, when they are leased.
#include <algorithm>
#include <utility>

#include "trawl/url.h"

#include "crawler/log/room_log.h"
#include "crawler/run/fetcher.h"
#include "crawler/run/held_urls.h"

namespace trawl {

namespace {

// How many URLs of a host's queue are searched for one of another origin.
constexpr std::size_t kMostQueuedRead = 1'000'000;

}  // namespace

void Fetcher::leave_origin(const OpenLease& open, const std::string& origin,
                           const RobotsAnswer& robots) {
  if (is_held(open.lease.host, origin, robots)) return hold_of(open, held_origins_.at(origin));
  park(open, robots.reason);
  release(open, robots.ask_at, std::nullopt);
}

bool Fetcher::is_held(const std::string& host, const std::string& origin,
                      const RobotsAnswer& robots) {
  const auto known = held_origins_.find(origin);
  if (known != held_origins_.end() && known->second.ask_at == robots.ask_at) return true;
  const bool untrusted = context_.trusts_less && robots.failure == FetchError::kTls;
  if (!untrusted && !has_other_origins(host, origin)) return false;
  return begin_hold(origin, robots.ask_at, untrusted ? kTlsRefused : kRobotsUnavailable,
                    robots.reason);
}

// Whether the host has URLs of other origins to fetch if it is not parked.
bool Fetcher::has_other_origins(const std::string& host, const std::string& origin) {
  if (robots_.other_has_rules(host, origin)) return true;
  bool others = false;
  std::size_t read = 0;
  const auto visited = context_.frontier.visit_queue(host, [&](std::string_view queued) {
    const std::string other = origin_of(queued);
    others = !other.empty() && other != origin && !robots_.has_failed(other);
    return !others && ++read < kMostQueuedRead;
  });
  if (!visited) context_.stop_with(visited.error());
  return others;
}

bool Fetcher::begin_hold(const std::string& origin, SteadyTime ask_at, std::string_view reason,
                         std::string_view why) {
  if (!context_.held_origins.add(origin, std::string(why))) return false;
  const SteadyTime now = std::chrono::steady_clock::now();
  const auto [held, is_new] = held_origins_.try_emplace(
      origin,
      HeldOrigin{.since = now, .ask_at = ask_at, .reason = reason, .why = std::string(why)});
  held->second.ask_at = ask_at;
  first_held_ = std::min(first_held_, held->second.since);
  if (is_new) room_log(LogRoom::kRobots).warn("{}: URLs of this origin are held; {}", origin, why);
  return true;
}

void Fetcher::hold_of(const OpenLease& open, const HeldOrigin& held) {
  PageHandler::Result result = handler_.give_up(open, held.why, held.reason);
  result.output->listed = false;  // the URL is not finished
  hold_or_park(open, std::move(result), {.reason = held.reason}, held.ask_at);
}

bool Fetcher::hold_untrusted(const OpenLease& open, const Url& url) {
  if (held_origins_.empty()) return false;
  const auto held = held_origins_.find(std::string(url.origin()));
  if (held == held_origins_.end() || held->second.reason != kTlsRefused) return false;
  hold_of(open, held->second);
  return true;
}

// The hold begins after as many failures in a row as a page has tries: a certificate may be bad
// only for a moment.
bool Fetcher::lacks_trust(const OpenLease& open, const Url& url, const HttpResponse& response) {
  if (!context_.trusts_less || response.failure != FetchError::kTls) return false;
  const auto silent = silent_.find(open.lease.host);
  const std::uint32_t before = silent == silent_.end() ? 0 : silent->second;
  if (before < context_.config.politeness.retries) return false;
  if (!begin_hold(std::string(url.origin()), response.sent, kTlsRefused, response.error))
    park(open, response.error);
  release(open, response.sent, response.sent);
  return true;
}

void Fetcher::release_origin(const std::string& origin) {
  if (held_origins_.erase(origin) > 0) context_.held_origins.release(origin);
}

// An origin is held for as long as a host is parked.
void Fetcher::release_origins() {
  const auto park_time = context_.config.politeness.park_time;
  const SteadyTime now = std::chrono::steady_clock::now();
  if (park_time.count() == 0 || held_origins_.empty() || now - park_time < first_held_) return;
  std::vector<std::string> due;
  first_held_ = now;
  for (const auto& [origin, held] : held_origins_) {
    if (held.since <= now - park_time)
      due.push_back(origin);
    else
      first_held_ = std::min(first_held_, held.since);
  }
  for (const std::string& origin : due) {
    robots_.ask_again(origin);
    release_origin(origin);
  }
}

}  // namespace trawl
