// The life of a lease. take_leases() leases URLs that are due; begin() decides each again, as rules
// may have changed since it was queued, and finds the rules of its origin's robots.txt. If those
// are missing, the lease pays for the request of robots.txt and goes back to its queue. fetch()
// starts the transfer, whose FrontierStartGate asks the frontier for the host's turn (P1).
// on_page() gives the response to the PageHandler, and ends the lease in one of these ways:
// complete() with links; retry(), after which the frontier decides whether the URL is tried again;
// skip(), hold() or park() without a request; release() if it was not the host's turn.
//
// N3: a page's links and its output are durable no later than its completion. complete() and
// retry() first give the links to the frontier, with Outcome::end_later set if there is output;
// submit() then writes the output, and its callback completes the lease.
//
// Everything runs on the thread of run(), except that other threads may read its pages,
// and it theirs (fetcher_pages.cc). Other files have parts of the class, too: robots.txt and
// sitemaps (fetcher_robots.cc), the ends of leases (fetcher_ends.cc), held origins
// (fetcher_held.cc), logins (fetcher_logins.cc), suspects of crashes (fetcher_crashes.cc).
#include "crawler/run/fetcher.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "trawl/url.h"

#include "crawler/config/cookies_file.h"
#include "crawler/config/decoder_memory.h"
#include "crawler/decide/response_rules.h"
#include "crawler/log/room_log.h"
#include "crawler/parse/headers/media_type.h"
#include "crawler/run/fetch_failure.h"
#include "crawler/run/frontier_start_gate.h"
#include "crawler/run/held_urls.h"
#include "url/url_credentials.h"

namespace trawl {

namespace {

constexpr std::chrono::milliseconds kLongestWait{1000};
// Limit of a sitemap, compressed or not: https://www.sitemaps.org/protocol.html
constexpr std::uint64_t kMaxSitemapBytes = 50u << 20;
// The wait while bodies have used up their memory.
constexpr std::chrono::milliseconds kCrowdedWait{20};

// False if a Referer header would reveal a page fetched by https to an http URL.
bool may_be_referer(std::string_view parent, const Url& url) {
  return !parent.empty() && !(parent.starts_with("https:") && url.href().starts_with("http:"));
}

// A robots.txt has as many retries as a page.
std::uint32_t robots_retries(const CrawlConfig::Politeness& politeness) {
  if (politeness.host_failures == 0) return politeness.robots_retries;
  return std::min(politeness.robots_retries, politeness.host_failures - 1);
}

RobotsCacheOptions robots_options(const CrawlConfig::Politeness& politeness) {
  return {.retries = robots_retries(politeness),
          .backoff = politeness.robots_backoff,
          .longest_retry_after = politeness.max_retry_after,
          .longest_age = politeness.robots_max_age};
}

// Another origin gets only the page's origin: strict-origin-when-cross-origin of
// https://www.w3.org/TR/referrer-policy/
std::string referer_of(const std::string& parent, const Url& url) {
  const auto from = Url::parse(parent);
  if (!from) return {};
  return from->origin() == url.origin() ? without_credentials(parent)
                                        : std::string(from->origin()) + "/";
}

// False if the host may have to wait, or to be left alone.
bool says_nothing_of_host(const HttpResponse& response) {
  return is_2xx(response.status) && !response.failure;
}

// What a thread knows about a leased URL. Its host had room for it when it was queued.
class LeaseFacts final : public CrawlFacts {
 public:
  explicit LeaseFacts(const TrapDetector& traps) : traps_(traps) {}
  PatternState pattern(const Url& url) override { return traps_.state(url); }

 private:
  const TrapDetector& traps_;
};

}  // namespace

Result<std::unique_ptr<Fetcher>> Fetcher::create(CrawlContext& context, std::uint32_t shard,
                                                 const HttpOptions& http) {
  auto client = HttpClient::create(http);
  if (!client) return tl::unexpected(client.error());
  return std::unique_ptr<Fetcher>(new Fetcher(context, shard, std::move(*client)));
}

Fetcher::Fetcher(CrawlContext& context, std::uint32_t shard, std::unique_ptr<HttpClient> client)
    : context_(context),
      shard_(shard),
      client_(std::move(client)),
      reader_(context),
      handler_(context, reader_),
      queue_(
          context.unread_pages, shard,
          [this](FetchedPage& page) {
            reader_.read_ahead(page.open.lease, page.url, page.response, page.read);
          },
          [this](FetchedPage& page) {
            finish_page(page.open, page.url, std::move(page.response), page.read);
          }),
      robots_(robots_options(context.config.politeness)),
      page_limits_(context.frontier, context.resumed, LimitByHost::pages(context.config),
                   context.bodies),
      pace_(context.frontier, context.rules.politeness) {}

void Fetcher::run() {
  context_.safe_point.join();
  run_rounds();
  context_.unread_pages.set_free(shard_, false);
  context_.safe_point.leave();
  context_.on_end();
}

void Fetcher::run_rounds() {
  bool has_leased = false;  // since the last look at the network
  for (;;) {
    context_.safe_point.come_by();
    if (std::exchange(reloads_, context_.reloads) != context_.reloads) {
      robots_.set_waits(robots_options(context_.config.politeness));
      pace_.reloaded();
    }
    const CrawlPhase phase = phase_now();
    if (phase == CrawlPhase::kAborting) return;
    if (phase == CrawlPhase::kDraining && client_->active() == 0 && queue_.empty()) return;
    if (phase == CrawlPhase::kRunning) {
      release_origins();
      // A call that finds nothing may commit, which is cheaper for more pages at once.
      if (!std::exchange(has_leased, false)) take_leases();
      announce_end();
    } else {
      context_.truncated_responses.clear();  // no retries any more
    }
    wait_for_events();
    // The next requests leave before the pages that came are worked on.
    if (std::exchange(noted_fetched_, false) && phase_now() == CrawlPhase::kRunning) {
      const std::size_t before = leases_.size();
      take_leases();
      has_leased = leases_.size() > before;
      client_->send();
    }
    queue_.work();
    // Larger groups cost less. Threads with time to read write, too: see wait_as_reader().
    const bool left_to_others = context_.unread_pages.has_readers(shard_);
    context_.output.write_due(leases_.empty() || (!has_room_ && !left_to_others));
    if (auto failure = context_.output.failure()) context_.stop_with(*std::move(failure));
    renew_leases();
  }
}

CrawlPhase Fetcher::phase_now() {
  const CrawlPhase phase = context_.phase();
  if (phase != CrawlPhase::kRunning) return phase;
  if (const auto limit = context_.limits.reached(std::chrono::steady_clock::now()))
    context_.end_by(*limit);
  return context_.phase();
}

void Fetcher::take_leases() {
  has_room_ = true;
  if (context_.paused()) return;
  if (is_crowded())
    return context_.truncated_responses.clear();  // transfers in progress need the memory
  if (context_.crashes.is_alone()) return;
  const std::size_t room = context_.connections.take(shard_, leases_.size() - fetched_leases_);
  const std::uint64_t wanted = context_.pages.take(std::min(room, most_leases()));
  // Read before the frontier reads its clock, so that delays measured from here are not too short.
  const SteadyTime asked_at = std::chrono::steady_clock::now();
  auto leases =
      wanted > 0 ? context_.frontier.lease({.max = wanted, .shard = shard_}) : std::vector<Lease>();
  const std::size_t given = leases ? leases->size() : 0;
  context_.pages.give_back(wanted - given);
  has_room_ = given < room;
  if (given > 0) has_announced_end_ = false;
  if (has_room_) context_.connections.give_back_unused(shard_, room - given);
  if (!leases) return context_.stop_with(leases.error());
  pace_.begin_batch();
  for (Lease& lease : *leases) {
    leases_.insert(lease.id);
    context_.in_flight.fetch_add(1, std::memory_order_relaxed);
    begin({.lease = std::move(lease),
           .leased_at = asked_at,
           .wall_time = std::chrono::system_clock::now()});
  }
}

// The last commit wakes the fetcher of its shard. Not every end is seen here: that with URLs left
// may come later, and in a shared frontier others decide with us.
void Fetcher::announce_end() {
  if (!leases_.empty() || !has_room_ || has_announced_end_ || context_.shared != nullptr) return;
  if (!context_.pages.used_up()) {
    const auto progress = context_.frontier.progress();
    if (!progress || !progress->at_end()) return;
  }
  has_announced_end_ = true;
  context_.on_end();
}

// With politeness.max_rate no more than what is requested within a second: other leases would only
// wait, and their hosts with them.
std::size_t Fetcher::most_leases() const {
  using namespace std::chrono_literals;
  return context_.request_rate.limited()
             ? context_.request_rate.room(1s, std::chrono::steady_clock::now())
             : static_cast<std::size_t>(-1);
}

// A shared frontier hands out leases again that are not renewed, as those of a dead process.
void Fetcher::renew_leases() {
  const SteadyTime now = std::chrono::steady_clock::now();
  if (now < renewed_ + kLeaseTimeout / 4) return;
  renewed_ = now;
  for (const std::uint64_t lease : leases_) {
    const auto renewed = context_.frontier.renew(lease);
    // A lease that expired while the process was stopped can still be completed.
    if (!renewed && renewed.error().code != ErrorCode::kNotFound)
      return context_.stop_with(renewed.error());
  }
}

// True if bodies wait for memory or the disk is slow: no new requests are started then.
bool Fetcher::is_crowded() const {
  return context_.bodies->crowded() ||
         context_.output.queued_bytes() > context_.config.fetch.max_memory;
}

std::chrono::microseconds Fetcher::started_after(const OpenLease& open, SteadyTime sent) {
  return std::chrono::ceil<std::chrono::microseconds>(std::max(sent, open.leased_at) -
                                                      open.leased_at);
}

std::chrono::milliseconds Fetcher::idle_time() const {
  // Output that was submitted is to be settled soon.
  auto longest = context_.output.queued_bytes() > 0 ? Output::kMaxDelay : kLongestWait;
  if (const auto end = context_.limits.end()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(*end - std::chrono::steady_clock::now());
    longest = std::clamp(left, std::chrono::milliseconds(0), longest);
  }
  if (context_.phase() != CrawlPhase::kRunning || context_.paused() || !has_room_) return longest;
  if (is_crowded() || context_.crashes.is_alone()) return std::min(kCrowdedWait, longest);
  const auto due = context_.frontier.next_due(shard_);
  if (!due || !*due || context_.pages.all_taken()) return longest;
  const auto wait =
      std::chrono::ceil<std::chrono::milliseconds>(**due - std::chrono::steady_clock::now());
  return std::clamp(wait, std::chrono::milliseconds(0), longest);
}

void Fetcher::begin(OpenLease open) {
  const auto url = Url::parse(open.lease.url);
  if (!url) return end(open, url.error().message, {}, open.leased_at);
  // The scope may be narrower than when the URL was admitted.
  UrlNote note = UrlNote::decode(open.lease.note);
  if (handler_.waits_for_sitemap(open.lease, *url, note)) return end_recrawls(open);
  LeaseFacts facts(handler_.traps());
  const UrlVerdict verdict = context_.rules.decider.decide(
      *url, UrlOrigin::of(open.lease.depth, open.lease.redirects, note), facts);
  if (!verdict.is_fetched()) return skip(open, *url, verdict);
  // The scope may be wider than when the URL was found.
  if (note.hops_off_scope > 0 && !verdict.off_scope) {
    note.hops_off_scope = 0;
    open.lease.note = note.encode();
  }
  if (auto limited = page_limits_.on_lease(open.lease.host); !limited)
    context_.stop_with(limited.error());
  const auto fresh = pace_.on_lease(open.lease.host);
  if (!fresh) context_.stop_with(fresh.error());
  if (fresh && *fresh) {
    if (context_.rules.politeness.respects_robots(open.lease.host))
      set_crawl_delay(open.lease.host);
    return release(open, open.leased_at, std::nullopt);
  }
  if (hold_untrusted(open, *url)) return;
  const bool obeys = context_.rules.politeness.respects_robots(open.lease.host);
  if (!obeys && !doubted_.contains(open.lease.host)) return fetch(std::move(open), *url);
  const std::string origin(url->origin());
  RobotsAnswer robots = robots_.find(origin, std::chrono::steady_clock::now());
  switch (robots.action) {
    case RobotsAnswer::Action::kFetch:
      return fetch_robots(origin, std::move(robots.ask_for), std::move(open));
    case RobotsAnswer::Action::kWait:
      if (robots.no_such_host) return fail_no_such_host(open, robots, open.leased_at);
      return release(open, robots.ask_at, std::nullopt);
    case RobotsAnswer::Action::kFail:
      if (robots.failure == FetchError::kAddressRefused) return hold_refused(open, robots.reason);
      return leave_origin(open, origin, robots);
    case RobotsAnswer::Action::kObey:
      break;
  }
  release_origin(origin);
  doubted_.erase(open.lease.host);
  const UrlVerdict allowed = context_.rules.decider.decide(*url, *robots.rules);
  if (!allowed.is_fetched()) return skip(open, *url, allowed);
  fetch(std::move(open), *url);
}

HttpRequest Fetcher::request_for(const Url& url) const {
  const HostRequests::Settings& settings = context_.rules.requests.for_url(url);
  HttpRequest request;
  request.url = url.href_without_fragment();
  request.headers = settings.headers;
  request.proxy = settings.proxy;
  request.secret_fields = settings.secret_fields;
  if (settings.cookies) request.cookie_jar = cookie_site(url.hostname());
  return request;
}

std::shared_ptr<StartGate> Fetcher::gate_for(const OpenLease& open, const std::string& host) const {
  const bool own = host == open.lease.host;
  const bool paced = !own || open.lease.paced;
  if (!paced && !context_.request_rate.limited()) return nullptr;
  return std::make_shared<FrontierStartGate>(context_, open.lease.id, host, own, paced);
}

void Fetcher::fetch(OpenLease open, const Url& url) {
  if (must_log_in(open, url)) return;
  const Lease& lease = open.lease;
  HttpRequest request = request_for(url);
  if (is_put_off(open, request.url)) return;
  request.max_body = context_.config.fetch.max_body;
  request.max_download = context_.config.fetch.max_download;
  const UrlNote note = UrlNote::decode(lease.note);
  const bool is_page = note.role == UrlNote::Role::kPage;
  if (!is_page) {
    // As much as the protocol allows, if memory suffices for it and its decompressed form.
    const std::uint64_t most =
        std::min(kMaxSitemapBytes, (context_.bodies->for_bodies() - kMostDecoderMemory) / 2);
    request.max_body = std::max(request.max_body, most);
    request.max_download = std::max(request.max_download, most);
  }
  request.wants_part = [this, role = note.role](const HttpResponse& head) {
    return handler_.wants_part(role, head);
  };
  if (is_page && !context_.rules.fetched_types.empty()) {
    request.accept = [&types = context_.rules.fetched_types](const HttpResponse& head) {
      // Bodies of errors and redirects are read whatever their type.
      if (head.status < 200 || head.status >= 300) return true;
      // The content decides later, and may be HTML.
      if (is_unknown_media_type(head.content_type)) return types.matches("text/html");
      return types.matches(head.content_type);
    };
  }
  if (lease.recrawl) {
    if (!note.etag.empty()) request.headers.push_back("If-None-Match: " + note.etag);
    if (!note.last_modified.empty())
      request.headers.push_back("If-Modified-Since: " + note.last_modified);
  }
  if (context_.rules.requests.for_url(url).referer && may_be_referer(lease.parent, url)) {
    if (const std::string referer = referer_of(lease.parent, url); !referer.empty())
      request.headers.push_back("Referer: " + referer);
  }
  open.in_flight = context_.crashes.begin(request.url);
  request.gate = gate_for(open, lease.host);
  client_->start(request, [this, open = std::move(open)](HttpResponse response) mutable {
    on_page(std::move(open), std::move(response));
  });
}

void Fetcher::on_page(OpenLease&& open, HttpResponse&& response) {
  if (response.not_before) return release(open, *response.not_before, std::nullopt);
  // This ends, since each try uses up one stale connection.
  if (response.connection_was_stale || is_local_failure(response.failure))
    return release(open, response.sent, response.sent);
  count(response);
  if (auto& log = room_log(LogRoom::kHttp); log.should_log(spdlog::level::debug)) {
    log.debug("{}: {}, {} bytes in {} ms{}", without_credentials(open.lease.url), response.status,
              response.encoded_bytes, response.elapsed.count(),
              response.address.empty() ? "" : " from " + response.address);
  }
  auto url = Url::parse(open.lease.url);
  if (!url) return end(open, url.error().message, {}, response.sent);
  queue_.note_size(response);
  // Without other requests to go on with, another thread's help would only take longer.
  const bool shared = queue_.is_worth_sharing(response) && client_->active() > 0 &&
                      context_.unread_pages.has_readers(shard_);
  if (shared || !queue_.empty()) {
    if (says_nothing_of_host(response)) note_fetched(open, response.sent);
    return queue_.push(std::move(open), *std::move(url), std::move(response));
  }
  read_.clear();
  finish_page(open, *url, std::move(response), read_);
}

// The page waits in the queue, and the next request of its host need not: it may have the place at
// the host and the connection. Not if it is the end of the lease that says when that request may
// start. The number of such pages is limited, since their bodies take memory.
void Fetcher::note_fetched(OpenLease& open, SteadyTime sent) {
  const bool sets_delay = open.lease.paced || context_.config.politeness.adaptive_delay > 0;
  if (sets_delay || fetched_leases_ == UnreadPages::kPlaces) return;
  const auto noted = context_.frontier.fetched(open.lease.id, started_after(open, sent));
  if (!noted) {
    // As in renew_leases().
    if (noted.error().code != ErrorCode::kNotFound) context_.stop_with(noted.error());
    return;
  }
  open.fetched = true;
  ++fetched_leases_;
  noted_fetched_ = true;
  request_ended();
}

void Fetcher::finish_page(const OpenLease& open, const Url& url, HttpResponse&& response,
                          ReadPage& read) {
  const SteadyTime sent = response.sent;
  if (lacks_trust(open, url, response) || is_logged_out(open, url, response)) return;
  const auto failure = failure_reason_of(response);
  const bool answered = response.status != 0;
  const bool refused = response.failure == FetchError::kAddressRefused;
  if (answered) note_answer(open.lease.host, !failure);
  const bool doubted = !answered && doubts_host(open, failure);
  PageHandler::Result result = handler_.handle(open, url, std::move(response), read, doubted);
  result.outcome.started_after = started_after(open, sent);
  if (refused && !result.outcome.recrawl_at) {
    return hold_or_park(open, std::move(result), refused_address(context_.config), open.leased_at);
  }
  if (result.failure) return retry(open, std::move(result));
  complete(open, std::move(result));
}

void Fetcher::count(const HttpResponse& response) {
  if (response.failure) context_.fetches.add(*response.failure);
  context_.fetches.add_bytes(response.encoded_bytes);
  if (context_.limits.add_bytes(response.encoded_bytes)) context_.end_by(CrawlLimit::kBytes);
}

void Fetcher::note_answer(const std::string& host, bool good) {
  if (good) context_.host_troubles.answered(host);
  if (silent_.empty() || silent_.erase(host) == 0 || !good) return;
  // Failures from before the answer no longer count.
  if (const auto revived =
          context_.frontier.set_host(host, {.blocked_until = HostSettings::kNotBlocked});
      !revived)
    context_.stop_with(revived.error());
}

// True if a URL has used up its tries but its host has not answered any request since the first of
// them, so that the host may be down. The URL is then not given up until the host's robots.txt has
// been requested. If that is answered, `silent_` restarts below the URL's number of tries, and the
// next failure counts as the URL's own. A URL that has only one try is never doubted.
bool Fetcher::doubts_host(const OpenLease& open, std::optional<FailureReason> failure) {
  constexpr std::size_t kMostHosts = 100'000;
  if (!failure || !is_no_answer(*failure)) return false;
  if (silent_.size() >= kMostHosts) silent_.clear();
  if (doubted_.size() >= kMostHosts) doubted_.clear();
  const std::uint32_t silent = ++silent_[open.lease.host];
  const std::uint32_t tries_before = open.lease.attempts;
  if (tries_before == 0 || tries_before < context_.config.politeness.retries ||
      silent <= tries_before)
    return false;
  const auto url = Url::parse(open.lease.url);
  if (url) robots_.ask_again(std::string(url->origin()));
  doubted_.insert(open.lease.host);
  return true;
}

}  // namespace trawl
