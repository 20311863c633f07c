// Fetcher: robots.txt, and the sitemaps it names.
#include <algorithm>
#include <utility>

#include "trawl/url.h"
#include "trawl/url_groups.h"

#include "crawler/log/room_log.h"
#include "crawler/run/fetch_failure.h"
#include "crawler/run/fetcher.h"
#include "crawler/run/sitemap_requests.h"

namespace trawl {

namespace {

constexpr std::uint64_t kMaxRobotsBytes = 512 * 1024;

}  // namespace

void Fetcher::fetch_robots(const std::string& origin, std::string ask_for, OpenLease first) {
  const auto asked = Url::parse(ask_for);
  const bool own = asked && asked->origin() == origin;  // not a redirect to another origin
  const std::string host = first.lease.host;
  if (!waiting_for_robots_.contains(origin) && is_put_off(first, ask_for)) return;
  const std::string asked_host = asked && !own ? politeness_group(*asked) : host;
  auto gate = gate_for(first, asked_host);
  auto [waiting, is_first] = waiting_for_robots_.try_emplace(origin);
  waiting->second.push_back(std::move(first));
  if (!is_first) return;
  HttpRequest request = asked ? request_for(*asked) : HttpRequest{};
  request.gate = std::move(gate);
  request.url = std::move(ask_for);
  request.max_body = kMaxRobotsBytes;
  request.max_download = kMaxRobotsBytes;
  request.truncate_body = true;
  client_->start(request,
                 [this, origin, own, host, url = request.url,
                  in_flight = context_.crashes.begin(request.url)](const HttpResponse& response) {
                   if (response.not_before) return put_off_robots(origin, *response.not_before);
                   if (own) set_address(host, response.address);
                   count(response);
                   if (auto exchange = handler_.archive(url, response))
                     context_.output.submit(std::move(exchange), {});
                   on_robots(origin, response);
                 });
}

// Leases that waited for robots.txt go back to their queue: the request for it was the host's turn,
// and the next request waits for the host's delay, which robots.txt may have set. A redirect is
// followed by the first lease of the origin that is leased again.
void Fetcher::on_robots(const std::string& origin, const HttpResponse& response) {
  const auto waiting = waiting_for_robots_.extract(origin);
  if (response.connection_was_stale || is_local_failure(response.failure)) {  // as in on_page()
    for (const OpenLease& open : waiting.mapped())
      release(open, response.sent, response.sent);
    return;
  }
  const auto robots = robots_.store(origin, response, std::chrono::steady_clock::now());
  if (robots.no_such_host || robots.failure == FetchError::kAddressRefused) {
    for (const OpenLease& open : waiting.mapped()) {
      robots.no_such_host ? fail_no_such_host(open, robots, response.sent)
                          : hold_refused(open, robots.reason);
    }
    return;
  }
  if (response.status != 0) {
    note_answer(waiting.mapped().front().lease.host,
                robots.action == RobotsAnswer::Action::kObey && response.status < 500);
  }
  const OpenLease& first = waiting.mapped().front();
  // Other origins of the host are fetched meanwhile; URLs of this one are held when leased again.
  const bool held =
      robots.action == RobotsAnswer::Action::kFail && is_held(first.lease.host, origin, robots);
  if (robots.action == RobotsAnswer::Action::kFail && !held) park(first, robots.reason);
  SteadyTime next_start = response.sent;
  if (!held && (robots.action == RobotsAnswer::Action::kWait ||
                robots.action == RobotsAnswer::Action::kFail)) {
    room_log(LogRoom::kRobots)
        .debug("{}: {}; robots.txt will be requested again", origin, robots.reason);
    next_start = robots.ask_at;
    if (robots.action == RobotsAnswer::Action::kWait) {
      const std::string_view why = robots.failure ? to_string(*robots.failure) : robots.reason;
      note_trouble(first, why, robots.reason,
                   std::chrono::system_clock::now() +
                       std::chrono::duration_cast<std::chrono::system_clock::duration>(
                           robots.ask_at - std::chrono::steady_clock::now()),
                   false);
    }
  } else if (robots.action == RobotsAnswer::Action::kObey &&
             context_.rules.politeness.respects_robots(first.lease.host)) {
    set_crawl_delay(waiting.mapped().front().lease.host);
    if ((context_.config.links.sitemaps || context_.config.links.guess_sitemaps) &&
        robots.rules != nullptr)
      offer_sitemaps(origin, *robots.rules, UrlNote::decode(first.lease.note).seed);
  }
  for (const OpenLease& open : waiting.mapped())
    release(open, next_start, response.sent);
}

void Fetcher::put_off_robots(const std::string& origin, SteadyTime until) {
  const auto waiting = waiting_for_robots_.extract(origin);
  for (const OpenLease& open : waiting.mapped())
    release(open, until, std::nullopt);
}

// Sitemaps are queued like pages, and the delay of their host applies. A site in scope may name
// sitemaps on any host (https://www.sitemaps.org/protocol.html#submit_robots); sitemaps of other
// sites are ignored.
// `seed`: of the first URL of the site.
void Fetcher::offer_sitemaps(const std::string& origin, const Robots& robots,
                             SeedSettings::Id seed) {
  std::vector<SitemapRequest> sitemaps = sitemaps_of(robots);
  if (sitemaps.empty() && context_.config.links.guess_sitemaps) {
    if (auto guess = Url::parse(origin + "/sitemap.xml")) {
      sitemaps.emplace_back().url = *std::move(guess);
      sitemaps.back().role = UrlNote::Role::kSitemap;
    }
  }
  if (sitemaps.empty()) return;
  const auto site = Url::parse(origin);
  if (!site) return;
  LinkFollower& links = handler_.links();
  const std::string parent = origin + "/robots.txt";
  const bool vouched = context_.rules.decider.is_seed_host(politeness_group(*site)) ||
                       context_.rules.decider.decide(*site, {}).is_fetched();
  links.begin(parent, nullptr);
  for (SitemapRequest& sitemap : sitemaps) {
    const bool own = politeness_group(*site) == politeness_group(sitemap.url);
    links.add(std::move(sitemap.url),
              {.origin = {.found = {FoundAs::kSitemap},
                          .seed = seed,
                          .sitemap = sitemap.role == UrlNote::Role::kSitemap,
                          .own_site = own,
                          .vouched = vouched},
               .sitemap_level = sitemap.level});
  }
  std::vector<UrlRequest> requests(links.requests().begin(), links.requests().end());
  for (UrlRequest& request : requests)
    request.parent = parent;
  const auto admissions = context_.frontier.offer(requests);
  if (!admissions) return context_.stop_with(admissions.error());
  links.offered(*admissions);
}

// Sets the address early, so that politeness.ip_delay applies to the first page of a host too.
void Fetcher::set_address(const std::string& host, const std::string& address) {
  if (address.empty() || context_.config.politeness.ip_delay.count() == 0) return;
  const auto set = context_.frontier.set_host(host, {.address = std::string(address)});
  if (!set) context_.stop_with(set.error());
}

void Fetcher::set_crawl_delay(const std::string& host) {
  const auto delay = std::min(robots_.crawl_delay(host, context_.robots_agent),
                              context_.config.politeness.max_crawl_delay);
  const auto set = pace_.set_crawl_delay(host, delay, context_.asked_delays.of(host));
  if (!set) context_.stop_with(set.error());
}

}  // namespace trawl
