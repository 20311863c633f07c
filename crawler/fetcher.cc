#include "crawler/fetcher.h"

#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "trawl/links.h"
#include "trawl/url.h"

#include "crawler/parse/headers/media_type.h"

namespace trawl {

namespace {

constexpr std::uint64_t kMaxRobotsBytes = 512 * 1024;
constexpr std::chrono::milliseconds kLongestWait{1000};

bool is_html(const HttpResponse& response) {
  if (is_html_media_type(response.content_type)) return true;
  // Without a type a browser looks at the content; a page begins with a tag.
  const auto first = response.body.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return media_type(response.content_type).empty() && first != std::string::npos &&
         response.body[first] == '<';
}

std::string_view to_string(LinksSkipped skipped) {
  switch (skipped) {
    case LinksSkipped::kTooLarge:
      return "links not read: the page is too large";
    case LinksSkipped::kTooDeep:
      return "links not read: the page's elements nest too deeply";
    case LinksSkipped::kTooSlow:
      return "links not read: parsing the page takes too long";
    case LinksSkipped::kUnparsable:
      return "links not read: the parser fails on the page";
    case LinksSkipped::kNo:
      break;
  }
  return "";
}

LinkOptions link_options(const CrawlConfig& config, const std::string& agent) {
  LinkOptions options;
  options.kinds = config.links.kinds;
  options.engine = config.links.engine;
  options.agent = agent;
  options.max_bytes = std::max<std::size_t>(options.max_bytes, config.fetch.max_body);
  return options;
}

}  // namespace

Result<std::unique_ptr<Fetcher>> Fetcher::create(CrawlContext& context, std::uint32_t shard,
                                                 std::size_t connections, const HttpOptions& http) {
  auto client = HttpClient::create(http);
  if (!client) return tl::unexpected(client.error());
  return std::unique_ptr<Fetcher>(new Fetcher(context, shard, connections, std::move(*client)));
}

Fetcher::Fetcher(CrawlContext& context, std::uint32_t shard, std::size_t connections,
                 std::unique_ptr<HttpClient> client)
    : context_(context),
      shard_(shard),
      connections_(connections),
      client_(std::move(client)),
      links_(link_options(context.config, context.robots_agent)),
      robots_({.retries = context.config.politeness.robots_retries,
               .backoff = context.config.politeness.robots_backoff,
               .longest_age = context.config.politeness.robots_max_age}) {}

void Fetcher::run() {
  for (;;) {
    const CrawlPhase phase = context_.phase();
    if (phase == CrawlPhase::kAborting) return;
    if (phase == CrawlPhase::kDraining && client_->active() == 0) return;
    if (phase == CrawlPhase::kRunning) take_leases();
    client_->run(idle_time());
  }
}

void Fetcher::take_leases() {
  const std::uint64_t room = connections_ - std::min(connections_, open_leases_);
  const std::uint64_t wanted = context_.budget.take(room);
  if (wanted == 0) return;
  // Before the frontier looks at its clock: what is counted from here is not too short.
  const SteadyTime asked_at = std::chrono::steady_clock::now();
  auto leases = context_.frontier.lease(wanted, shard_);
  context_.budget.give_back(wanted - (leases ? leases->size() : 0));
  if (!leases) return context_.stop_with(leases.error());
  for (Lease& lease : *leases) {
    ++open_leases_;
    context_.in_flight.fetch_add(1);
    begin({.lease = std::move(lease),
           .leased_at = asked_at,
           .wall_time = std::chrono::system_clock::now()});
  }
}

std::chrono::milliseconds Fetcher::started_after(const OpenLease& open, SteadyTime sent) {
  return std::chrono::ceil<std::chrono::milliseconds>(std::max(sent, open.leased_at) -
                                                      open.leased_at);
}

std::chrono::milliseconds Fetcher::idle_time() const {
  if (context_.phase() != CrawlPhase::kRunning || open_leases_ >= connections_) {
    return kLongestWait;
  }
  const auto due = context_.frontier.next_due(shard_);
  if (!due || context_.budget.all_taken()) return kLongestWait;
  const auto wait =
      std::chrono::ceil<std::chrono::milliseconds>(*due - std::chrono::steady_clock::now());
  return std::clamp(wait, std::chrono::milliseconds(0), kLongestWait);
}

void Fetcher::begin(OpenLease open) {
  const auto url = Url::parse(open.lease.url);
  if (!url) return fail(open, url.error().message, open.leased_at);
  // A crawl may be resumed with a narrower scope than the one its URLs were admitted by.
  const SkipReason reason = context_.scope.check(*url, open.lease.depth);
  if (reason != SkipReason::kReasons) return skip(open, reason);
  if (!context_.config.politeness.respect_robots) return fetch(std::move(open));
  const std::string origin(url->origin());
  RobotsAnswer robots = robots_.find(origin, std::chrono::steady_clock::now());
  switch (robots.action) {
    case RobotsAnswer::Action::kFetch:
      return fetch_robots(origin, std::move(robots.ask_for), std::move(open));
    case RobotsAnswer::Action::kWait:
      return release(open, robots.ask_at, open.leased_at);
    case RobotsAnswer::Action::kFail:
      return fail(open, robots.reason, std::nullopt);
    case RobotsAnswer::Action::kObey:
      break;
  }
  if (!robots.rules->allowed(context_.robots_agent, *url)) return skip(open, SkipReason::kRobots);
  fetch(std::move(open));
}

void Fetcher::fetch(OpenLease open) {
  const HttpRequest request{.url = open.lease.url, .max_body = context_.config.fetch.max_body};
  client_->start(request, [this, open = std::move(open)](HttpResponse response) {
    on_page(open, std::move(response));
  });
}

void Fetcher::fetch_robots(const std::string& origin, std::string ask_for, OpenLease first) {
  auto [waiting, is_first] = waiting_for_robots_.try_emplace(origin);
  waiting->second.push_back(std::move(first));
  if (!is_first) return;
  const auto asked = Url::parse(ask_for);
  const bool own = asked && asked->origin() == origin;  // and not one it was redirected to
  const HttpRequest request{
      .url = std::move(ask_for), .max_body = kMaxRobotsBytes, .truncate_body = true};
  const std::string host = waiting->second.front().lease.host;
  client_->start(request, [this, origin, own, host](const HttpResponse& response) {
    if (own) set_address(host, response.address);
    on_robots(origin, response);
  });
}

// Whoever waited goes back to its queue: the request for robots.txt was the host's, and the next
// one has to wait for the delay, which robots.txt itself may have set. That holds for the next of
// several redirects, too: the first of them that is leased again asks for it.
void Fetcher::on_robots(const std::string& origin, const HttpResponse& response) {
  const auto waiting = waiting_for_robots_.extract(origin);
  if (response.connection_was_stale) {  // as in on_page()
    for (const OpenLease& open : waiting.mapped())
      release(open, response.sent, response.sent);
    return;
  }
  const auto robots = robots_.store(origin, response, std::chrono::steady_clock::now());
  if (robots.action == RobotsAnswer::Action::kFail) {
    for (const OpenLease& open : waiting.mapped())
      fail(open, robots.reason, response.sent);
    return;
  }
  SteadyTime next_start = response.sent;
  if (robots.action == RobotsAnswer::Action::kWait) {
    spdlog::debug("{}: {}; it is asked for again", origin, robots.reason);
    next_start = robots.ask_at;
  } else if (robots.action == RobotsAnswer::Action::kObey) {
    set_crawl_delay(waiting.mapped().front().lease.host);
  }
  for (const OpenLease& open : waiting.mapped())
    release(open, next_start, response.sent);
}

// So that the first page of a host is kept apart from others at its address, too.
void Fetcher::set_address(const std::string& host, const std::string& address) {
  if (address.empty() || context_.config.politeness.ip_delay.count() == 0) return;
  const auto set = context_.frontier.set_host_address(host, address);
  if (!set) context_.stop_with(set.error());
}

void Fetcher::set_crawl_delay(const std::string& host) {
  const auto& politeness = context_.config.politeness;
  const auto delay =
      std::min(robots_.crawl_delay(host, context_.robots_agent), politeness.max_crawl_delay);
  const auto set = context_.frontier.set_host_delay(
      host, delay > politeness.delay ? delay : std::chrono::milliseconds(0));
  if (!set) context_.stop_with(set.error());
}

void Fetcher::on_page(const OpenLease& open, HttpResponse response) {
  if (response.connection_was_stale) {
    // Each try uses up one such connection, so that this ends.
    return release(open, response.sent, response.sent);
  }
  auto page = std::make_shared<PageRecord>();
  page->content_type = response.content_type;
  page->bytes = response.body.size();
  page->fetched_at = open.wall_time;
  page->elapsed = response.elapsed;
  Outcome outcome{.status = response.status,
                  .error = response.error,
                  .started_after = started_after(open, response.sent),
                  .response_time = response.response_time,
                  .address = response.address};
  std::vector<Url> targets;  // what the requests' views point into
  const auto links = follow(open, response, *page, outcome, targets);
  outcome.context = std::move(page);
  complete(open, outcome, links);
}

std::vector<UrlRequest> Fetcher::follow(const OpenLease& open, const HttpResponse& response,
                                        PageRecord& page, Outcome& outcome,
                                        std::vector<Url>& targets) {
  const auto url = Url::parse(open.lease.url);
  if (!url || !response.error.empty()) return {};
  const bool redirect = response.is_redirect();
  if (redirect) {
    follow_redirect(open, *url, response.location, page, outcome, targets);
  } else if (response.status >= 200 && response.status < 300 && is_html(response)) {
    follow_links(open, *url, response, page, outcome, targets);
  }
  std::vector<UrlRequest> requests;
  requests.reserve(targets.size());
  for (const Url& target : targets) {
    // A redirect stands for the page it leads to, and is as deep.
    requests.push_back({.url = target.href_without_fragment(),
                        .depth = open.lease.depth + (redirect ? 0 : 1),
                        .redirects = redirect ? open.lease.redirects + 1 : 0});
  }
  return requests;
}

void Fetcher::follow_redirect(const OpenLease& open, const Url& url, const std::string& location,
                              PageRecord& page, Outcome& outcome, std::vector<Url>& targets) {
  auto target = Url::parse(location, &url);
  if (!target) {
    page.redirect = location;
    outcome.error = "redirect: " + target.error().message;
    return;
  }
  page.redirect = target->href();
  SkipReason reason = context_.scope.check(*target, open.lease.depth);
  if (open.lease.redirects >= context_.config.fetch.max_redirects) {
    reason = SkipReason::kTooManyRedirects;
    outcome.error = "redirect: more than fetch.max_redirects in a row";
  }
  if (reason != SkipReason::kReasons) return context_.skipped.add(reason);
  targets.push_back(std::move(*target));
}

void Fetcher::follow_links(const OpenLease& open, const Url& url, const HttpResponse& response,
                           PageRecord& page, Outcome& outcome, std::vector<Url>& targets) {
  links_.extract_into(response.body, response.content_type, url, found_);
  outcome.error = to_string(found_.skipped);
  page.links = found_.links.size();
  context_.skipped.add(SkipReason::kInvalidUrl, found_.invalid);
  context_.skipped.add(SkipReason::kOtherScheme, found_.other_scheme);
  targets.reserve(found_.links.size());
  for (Link& link : found_.links) {
    const SkipReason reason = context_.scope.check(link.url, open.lease.depth + 1);
    if (reason != SkipReason::kReasons) {
      context_.skipped.add(reason);
    } else {
      targets.push_back(std::move(link.url));
    }
  }
}

void Fetcher::fail(const OpenLease& open, std::string_view error,
                   std::optional<SteadyTime> asked_at) {
  auto page = std::make_shared<PageRecord>();
  page->fetched_at = open.wall_time;
  Outcome outcome{.status = 0, .error = std::string(error), .context = std::move(page)};
  if (asked_at) {
    outcome.started_after = started_after(open, *asked_at);
  } else {
    outcome.requested = false;
    context_.budget.give_back(1);
  }
  complete(open, outcome, {});
}

void Fetcher::skip(const OpenLease& open, SkipReason reason) {
  context_.skipped.add(reason);
  context_.budget.give_back(1);
  complete(open, {.requested = false}, {});
}

void Fetcher::complete(const OpenLease& open, const Outcome& outcome,
                       const std::vector<UrlRequest>& links) {
  if (!outcome.error.empty()) {
    spdlog::debug("{}: {}", open.lease.url, outcome.error);
    context_.note_failed_fetch(open.lease.url, outcome.error);
  } else if (outcome.requested) {
    context_.succeeded.fetch_add(1);
  }
  const auto completed = context_.frontier.complete(open.lease.id, outcome, links);
  if (outcome.requested) context_.budget.finish_one();
  lease_ended();
  if (!completed) context_.stop_with(completed.error());
}

void Fetcher::release(const OpenLease& open, SteadyTime next_start, SteadyTime asked_at) {
  context_.budget.give_back(1);
  const auto released =
      context_.frontier.release(open.lease.id, next_start, started_after(open, asked_at));
  lease_ended();
  if (!released) context_.stop_with(released.error());
}

void Fetcher::lease_ended() {
  --open_leases_;
  context_.in_flight.fetch_sub(1);
}

}  // namespace trawl
