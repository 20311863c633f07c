#include "crawler/status/status_api.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crawler/config/config_values.h"
#include "crawler/config/shown_config.h"
#include "crawler/status/host_action.h"
#include "crawler/status/metrics.h"
#include "crawler/status/offer_body.h"
#include "crawler/status/page/status_page.h"
#include "crawler/status/status_json.h"
#include "crawler/status/status_token.h"
#include "crawler/status/tally_json.h"

namespace trawl {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t kMaxOfferBody = 4 << 20;
constexpr std::size_t kMaxCallBody = 64 << 10;
constexpr std::size_t kMostRows = 10'000;

constexpr std::uint64_t kMostErrorEvents = 20;
constexpr std::string_view kEvents = "/api/v1/events";

int http_status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kInvalidUrl:
    case ErrorCode::kUnsupportedScheme:
      return 400;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kUnavailable:
    case ErrorCode::kClosed:
      return 503;
    default:
      return 500;
  }
}

ApiReply failed(const Error& failure) {
  return error_reply(http_status_of(failure.code), failure.message);
}

ApiReply reply_of(const ordered_json& value) {
  return {.body = dump_json(value) + "\n"};
}

ApiReply no_such_host(const std::string& host) {
  return error_reply(404, fmt::format("this crawl has no URLs of {}: see /api/v1/hosts for those "
                                      "that it knows",
                                      host));
}

// What holds instead of a delay that was asked for.
std::string note_on_delay(const HostRow& row, std::chrono::milliseconds asked,
                          const CrawlConfig& config) {
  const bool by_config = row.delay == config.politeness.delay;
  return fmt::format("the delay is still {}, not {}: {}", format_duration(row.delay),
                     format_duration(asked),
                     by_config ? "politeness.delay is longer"
                               : "a longer one applies, of robots.txt, [[politeness.host]] or "
                                 "politeness.adaptive_delay");
}

// A number from 1 to kMostRows; nothing if it is another text.
std::optional<std::size_t> limit_of(const ApiRequest& request, std::size_t usual) {
  const auto text = request.parameter("limit");
  if (!text) return usual;
  std::size_t limit = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, failure] = std::from_chars(text->data(), end, limit);
  if (failure != std::errc() || stop != end || limit == 0 || limit > kMostRows) return std::nullopt;
  return limit;
}

ApiReply bad_limit() {
  return error_reply(400, fmt::format("limit must be a number from 1 to {}", kMostRows));
}

}  // namespace

struct StatusRoutes {
  struct Route {
    std::string_view path;
    bool post;
    CallLane lane;
    StatusApi::Call call;  // null: the events
  };
  static constexpr Route kAll[] = {
      {"/", false, CallLane::kReads, &StatusApi::page},
      {"/healthz", false, CallLane::kReads, &StatusApi::health},
      {"/metrics", false, CallLane::kReads, &StatusApi::metrics},
      {kEvents, false, CallLane::kReads, nullptr},
      {"/api/v1/status", false, CallLane::kReads, &StatusApi::status},
      {"/api/v1/frontier", false, CallLane::kReads, &StatusApi::frontier},
      {"/api/v1/history", false, CallLane::kReads, &StatusApi::history},
      {"/api/v1/hosts", false, CallLane::kReads, &StatusApi::hosts},
      {"/api/v1/host", false, CallLane::kReads, &StatusApi::host},
      {"/api/v1/url", false, CallLane::kSlow, &StatusApi::url},
      {"/api/v1/skipped", false, CallLane::kReads, &StatusApi::skipped},
      {"/api/v1/errors", false, CallLane::kReads, &StatusApi::errors},
      {"/api/v1/config", false, CallLane::kReads, &StatusApi::config},
      {"/api/v1/pause", true, CallLane::kReads, &StatusApi::pause},
      {"/api/v1/unpause", true, CallLane::kReads, &StatusApi::unpause},
      {"/api/v1/checkpoint", true, CallLane::kSlow, &StatusApi::checkpoint},
      {"/api/v1/stop", true, CallLane::kReads, &StatusApi::stop},
      {"/api/v1/offer", true, CallLane::kSlow, &StatusApi::offer},
      {"/api/v1/reload", true, CallLane::kSlow, &StatusApi::reload},
      {"/api/v1/host", true, CallLane::kSlow, &StatusApi::change_host},
  };

  static bool exists(std::string_view path) {
    return std::ranges::find(kAll, path, &Route::path) != std::end(kAll);
  }
  static const Route* find(const ApiRequest& request) {
    const bool post = request.method == "POST";
    if (!post && request.method != "GET" && request.method != "HEAD") return nullptr;
    const auto* found = std::ranges::find_if(
        kAll, [&](const Route& route) { return route.path == request.path && route.post == post; });
    return found == std::end(kAll) ? nullptr : found;
  }
  static std::string methods(std::string_view path) {
    std::string allowed;
    for (const Route& route : kAll) {
      if (route.path != path) continue;
      allowed += allowed.empty() ? "" : ", ";
      allowed += route.post ? "POST" : "GET, HEAD";
    }
    return allowed;
  }
};

std::optional<ApiReply> StatusApi::refuse(const ApiRequest& request) const {
  const auto* const route = StatusRoutes::find(request);
  if (rules_ != nullptr && !request.control_socket) {
    const auto needs = request.path == "/healthz" ? AccessRules::Needs::kNothing
                       : request.method == "GET" || request.method == "HEAD"
                           ? AccessRules::Needs::kReading
                       : route == nullptr ? AccessRules::Needs::kReading
                                          : AccessRules::Needs::kChanging;
    if (auto refused = rules_->refuse(request, needs)) return refused;
  }
  if (route == nullptr && !StatusRoutes::exists(request.path)) {
    return error_reply(404,
                       "no such page: the status page is at /, the API under /api/v1/ (see "
                       "docs/api.md), metrics are at /metrics");
  }
  if (route == nullptr) {
    const std::string allowed = StatusRoutes::methods(request.path);
    ApiReply refused = error_reply(405, fmt::format("{} takes only {}", request.path, allowed));
    refused.headers.emplace_back("Allow", allowed);
    return refused;
  }
  // A form of another site cannot send JSON.
  const std::string_view type =
      std::string_view(request.content_type).substr(0, request.content_type.find(';'));
  if (route->post && !request.control_socket && !type.empty() && type != "application/json" &&
      type != "application/x-ndjson" && type != "application/jsonl" && type != "text/plain") {
    return error_reply(415,
                       "the body must be JSON or lines: send the header \"Content-Type: "
                       "application/json\" or text/plain");
  }
  return std::nullopt;
}

std::size_t StatusApi::max_body(const ApiRequest& request) const {
  if (request.method != "POST") return 0;
  return request.path == "/api/v1/offer" ? kMaxOfferBody : kMaxCallBody;
}

ApiOutcome StatusApi::answer(ApiRequest request) {
  const auto* const route = StatusRoutes::find(request);
  if (route == nullptr) return error_reply(404, "no such page");
  if (route->call == nullptr) return EventSubscription{};
  if (route->path == "/healthz") return health(request);
  if (route->post && ended()) return error_reply(503, "the crawl has ended");
  return DeferredReply{route->lane, [this, request = std::move(request), call = route->call] {
                         return (this->*call)(request);
                       }};
}

std::string StatusApi::events() {
  std::string text = fmt::format("event: status\ndata: {}\n\n",
                                 dump_json(status_json(crawl_, ended(), window_, disk_)));
  const std::uint64_t errors = crawl_.tally().error_count();
  const std::uint64_t fresh = errors - std::min(errors, errors_shown_);
  errors_shown_ = errors;
  if (fresh == 0) return text;
  auto newest = crawl_.tally().recent_errors(std::min(fresh, kMostErrorEvents));
  std::ranges::reverse(newest);
  for (const RecentError& failure : newest)
    text += fmt::format("event: log\ndata: {}\n\n", dump_json(error_json(failure)));
  return text;
}

void StatusApi::sample() {
  const auto now = std::chrono::steady_clock::now();
  if (!window_.is_due(now)) return;
  const TallyTotals totals = crawl_.tally().totals();
  window_.add(now, totals.lines, totals.bytes());
}

ApiReply StatusApi::page(const ApiRequest&) {
  const std::string nonce = random_hex();
  return {.content_type = "text/html; charset=utf-8",
          .body = status_page(rules_ == nullptr ? std::string_view() : rules_->token(), nonce),
          .headers = {{"Content-Security-Policy", status_page_policy(nonce)}}};
}

ApiReply StatusApi::health(const ApiRequest&) {
  return {.content_type = "text/plain; charset=utf-8", .body = "ok\n"};
}

ApiReply StatusApi::metrics(const ApiRequest&) {
  return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_text(crawl_)};
}

ApiReply StatusApi::status(const ApiRequest&) {
  return reply_of(status_json(crawl_, ended(), window_, disk_));
}

ApiReply StatusApi::frontier(const ApiRequest&) {
  return reply_of(frontier_json(crawl_));
}

ApiReply StatusApi::history(const ApiRequest&) {
  return reply_of(history_json(crawl_.history()));
}

// Those that the frontier knows, the longest queues first; or those fetched from, by the tally.
ApiReply StatusApi::hosts(const ApiRequest& request) {
  const auto limit = limit_of(request, 50);
  if (!limit) return bad_limit();
  const std::string_view order = request.parameter("order").value_or("queued");
  ordered_json list = ordered_json::array();
  if (order == "queued") {
    const auto rows = crawl_.hosts(HostOrder::kQueued, *limit);
    if (!rows) return failed(rows.error());
    for (const HostRow& row : *rows) {
      const auto tally = crawl_.tally().host(row.host);
      list.push_back(host_json(row, tally ? &*tally : nullptr));
    }
    return reply_of({{"hosts", std::move(list)}});
  }
  constexpr std::pair<std::string_view, TallyOrder> kOrders[] = {{"fetched", TallyOrder::kFetched},
                                                                 {"failed", TallyOrder::kFailed},
                                                                 {"bytes", TallyOrder::kBytes},
                                                                 {"slowest", TallyOrder::kSlowest}};
  const auto* const found =
      std::ranges::find(kOrders, order, &std::pair<std::string_view, TallyOrder>::first);
  if (found == std::end(kOrders))
    return error_reply(400, "order must be queued, fetched, failed, bytes or slowest");
  for (const HostTally& tally : crawl_.tally().top_hosts(found->second, *limit)) {
    const auto row = crawl_.host(tally.host);
    list.push_back(host_json(row ? *row : HostRow{.host = tally.host}, &tally));
  }
  return reply_of({{"hosts", std::move(list)}});
}

ApiReply StatusApi::host(const ApiRequest& request) {
  const std::string_view written = request.parameter("host").value_or("");
  if (written.empty()) return error_reply(400, "name a host: /api/v1/host?host=example.com");
  const auto as_written = host_as_written(written);
  if (!as_written) return failed(as_written.error());
  const std::string& name = *as_written;
  const auto row = crawl_.host(name);
  const auto tally = crawl_.tally().host(name);
  if (!row && row.error().code != ErrorCode::kNotFound) return failed(row.error());
  if (!row && !tally) return no_such_host(name);
  return reply_of(host_json(row ? *row : HostRow{.host = name}, tally ? &*tally : nullptr));
}

ApiReply StatusApi::url(const ApiRequest& request) {
  const auto url = request.parameter("url");
  if (!url || url->empty()) {
    return error_reply(400,
                       "name a URL, percent-encoded: "
                       "/api/v1/url?url=https%3A%2F%2Fexample.com%2F");
  }
  if (!calls_.explain) return error_reply(503, "this crawl cannot explain URLs");
  const auto number = [&request](const char* name) -> Result<std::optional<std::uint32_t>> {
    const auto text = request.parameter(name);
    if (!text) return std::nullopt;
    std::uint32_t value = 0;
    const char* const end = text->data() + text->size();
    const auto [stop, failure] = std::from_chars(text->data(), end, value);
    if (failure == std::errc() && stop == end) return value;
    return error(ErrorCode::kInvalidArgument, fmt::format("{} must be a number from 0", name));
  };
  const auto depth = number("depth"), hops = number("hops");
  if (!depth || !hops) return failed(!depth ? depth.error() : hops.error());
  std::optional<FoundAs> kind;
  if (const auto name = request.parameter("kind")) {
    kind = find_found_as(*name);
    if (!kind)
      return error_reply(400,
                         fmt::format("kind must be one of {}", fmt::join(kFoundAsNames, ", ")));
  }
  auto text = calls_.explain(std::string(*url), *depth, *hops, kind);
  if (!text) return failed(text.error());
  if (!text->ends_with('\n')) *text += '\n';
  return {.body = std::move(*text)};
}

ApiReply StatusApi::skipped(const ApiRequest&) {
  return reply_of({{"skipped", skipped_json(crawl_)}});
}

ApiReply StatusApi::errors(const ApiRequest& request) {
  const auto limit = limit_of(request, 100);
  if (!limit) return bad_limit();
  ordered_json list = ordered_json::array();
  for (const RecentError& failure : crawl_.tally().recent_errors(*limit))
    list.push_back(error_json(failure));
  return reply_of({{"errors", std::move(list)}});
}

ApiReply StatusApi::config(const ApiRequest&) {
  return {.content_type = "application/toml; charset=utf-8",
          .body = to_toml(without_secrets(crawl_.config()))};
}

ApiReply StatusApi::done() const {
  return reply_of({{"ok", true}, {"state", state_word(crawl_, ended())}});
}

ApiReply StatusApi::pause(const ApiRequest&) {
  crawl_.pause();
  return done();
}

ApiReply StatusApi::unpause(const ApiRequest&) {
  crawl_.unpause();
  return done();
}

ApiReply StatusApi::checkpoint(const ApiRequest&) {
  crawl_.request_checkpoint();
  return done();
}

ApiReply StatusApi::stop(const ApiRequest& request) {
  bool now = false;
  if (!request.body.empty()) {
    const json body = json::parse(request.body, nullptr, false);
    if (!body.is_object() || (body.contains("now") && !body["now"].is_boolean()))
      return error_reply(400, "send {\"now\": true} to drop the requests in flight, or no body");
    now = body.value("now", false);
  }
  calls_.stop(now);
  return reply_of({{"ok", true}, {"state", "draining"}});
}

ApiReply StatusApi::offer(const ApiRequest& request) {
  const auto urls = parse_offer_body(request.body);
  if (!urls) return failed(urls.error());
  const auto report = crawl_.offer(*urls);
  if (!report) return failed(report.error());
  return reply_of(offer_json(*report));
}

ApiReply StatusApi::reload(const ApiRequest&) {
  const auto report = crawl_.reload();
  if (!report) return failed(report.error());
  return reply_of(reload_json(*report));
}

ApiReply StatusApi::change_host(const ApiRequest& request) {
  const auto action = parse_host_action(
      request.body,
      std::chrono::time_point_cast<SystemTime::duration>(std::chrono::system_clock::now()));
  if (!action) return failed(action.error());
  const std::string& host = action->host;
  const bool needs_queue = action->kind == HostAction::Kind::kUnblock ||
                           action->kind == HostAction::Kind::kRevive ||
                           action->kind == HostAction::Kind::kDrop;
  if (needs_queue && !crawl_.tally().host(host)) {
    const auto known = crawl_.host(host);
    if (!known && known.error().code == ErrorCode::kNotFound) return no_such_host(host);
    if (!known) return failed(known.error());
  }
  ordered_json answer{{"ok", true}, {"host", host}};
  Result<void> changed;
  switch (action->kind) {
    case HostAction::Kind::kBlock:
      changed = crawl_.block_host(host, action->until);
      break;
    case HostAction::Kind::kUnblock:
    case HostAction::Kind::kRevive:
      changed = crawl_.unblock_host(host);
      break;
    case HostAction::Kind::kDelay:
      changed = crawl_.set_host(host, {.delay = action->delay});
      break;
    case HostAction::Kind::kDrop: {
      const auto count = crawl_.drop_host(host);
      if (!count) return failed(count.error());
      answer["dropped"] = *count;
      break;
    }
  }
  if (!changed) return failed(changed.error());
  const auto row = crawl_.host(host);
  const auto tally = crawl_.tally().host(host);
  if (row || tally)
    answer["now"] = host_json(row ? *row : HostRow{.host = host}, tally ? &*tally : nullptr);
  if (row && action->kind == HostAction::Kind::kDelay && row->delay > action->delay &&
      action->delay.count() > 0)
    answer["note"] = note_on_delay(*row, action->delay, crawl_.config());
  return reply_of(answer);
}

}  // namespace trawl
