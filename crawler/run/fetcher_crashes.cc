// Fetcher: URLs that may crash the crawl. See CrashLoopBreaker for the protocol.
#include <utility>

#include "crawler/log/room_log.h"
#include "crawler/run/fetcher.h"

namespace trawl {

namespace {

// Rarely needed: other threads lease nothing while a suspect is fetched alone.
constexpr std::chrono::milliseconds kWaitForAnother{100};
constexpr std::string_view kCrashed =
    "the crawl crashed three times while fetching this URL, the last time while fetching only this "
    "URL";

}  // namespace

bool Fetcher::is_put_off(const OpenLease& open, std::string_view asked) {
  switch (context_.crashes.verdict(asked, open.lease.url, context_.in_flight)) {
    case CrashVerdict::kFetch:
      return false;
    case CrashVerdict::kWait:
      release(open, std::chrono::steady_clock::now() + kWaitForAnother, std::nullopt);
      return true;
    case CrashVerdict::kPutOff:
      put_off(open, asked);
      return true;
    case CrashVerdict::kSetAside:
      set_aside(open, asked);
      return true;
  }
  return false;
}

// Holds the URL, so that other URLs of its host are fetched first: see CrawlImpl::fetch_suspect().
void Fetcher::put_off(const OpenLease& open, std::string_view asked) {
  context_.crashes.put_off(open.lease.url, std::string(asked));
  const auto held =
      context_.frontier.hold(open.lease.id, {.reason = CrashLoopBreaker::kSuspect, .always = true});
  context_.pages.give_back(1);
  lease_ended(open);
  if (!held) context_.stop_with(held.error());
}

void Fetcher::set_aside(const OpenLease& open, std::string_view asked) {
  if (asked != open.lease.url) return leave_host_alone(open, asked);
  if (auto noted = context_.crashes.set_aside(asked); !noted) context_.stop_with(noted.error());
  room_log(LogRoom::kCrawl).warn("{}: set aside as failed: {}", asked, kCrashed);
  PageHandler::Result result = handler_.give_up(open, kCrashed, CrashLoopBreaker::kCrashed);
  result.outcome.reason = CrashLoopBreaker::kCrashed;
  result.outcome.requested = false;
  result.outcome.keep_failed = true;  // such URLs are few, and the user may retry each
  result.outcome.recrawl_at.reset();
  complete(open, std::move(result));
}

// Parks a host whose robots.txt crashes the crawl: without it, nothing of the host may be fetched.
void Fetcher::leave_host_alone(const OpenLease& open, std::string_view robots_txt) {
  if (context_.crashes.leave_alone(robots_txt))
    room_log(LogRoom::kCrawl).warn("{}: host parked: {}", robots_txt, kCrashed);
  // Each time, since the user may have revived the host.
  if (auto parked =
          context_.frontier.set_host(open.lease.host, {.blocked_until = HostSettings::kParked});
      !parked)
    context_.stop_with(parked.error());
  release(open, open.leased_at, std::nullopt);
}

}  // namespace trawl
