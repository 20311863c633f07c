#include "crawler/status/host_action.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trawl/url.h"
#include "trawl/url_groups.h"

#include "base/rfc3339.h"
#include "base/safe_text.h"
#include "crawler/config/config_values.h"

namespace trawl {

namespace {

using nlohmann::json;

constexpr std::chrono::days kLongest{365};
constexpr std::size_t kMostQuotedHost = 100;

constexpr std::array<std::pair<std::string_view, HostAction::Kind>, 5> kHostActions = {{
    {"block", HostAction::Kind::kBlock},
    {"unblock", HostAction::Kind::kUnblock},
    {"revive", HostAction::Kind::kRevive},
    {"delay", HostAction::Kind::kDelay},
    {"drop", HostAction::Kind::kDrop},
}};

tl::unexpected<Error> bad_action(std::string_view why) {
  return error(ErrorCode::kInvalidArgument,
               fmt::format("{}: send {{\"host\": \"example.com\", \"action\": \"block\"}}, with "
                           "block, unblock, revive, delay or drop; block may have \"until\", and "
                           "delay needs \"delay\", such as \"2s\"",
                           why));
}

// A member that must be a text, and not an empty one.
Result<std::string> text_of(const json& body, const char* key) {
  const auto found = body.find(key);
  if (found == body.end()) return bad_action(fmt::format("\"{}\" is missing", key));
  if (!found->is_string() || found->get_ref<const std::string&>().empty())
    return bad_action(fmt::format("\"{}\" is not a text", key));
  return found->get<std::string>();
}

Result<SystemTime> end_of_block(const std::string& text, SystemTime now) {
  auto until = parse_rfc3339(text);
  if (!until) {
    const auto time = parse_duration(text);
    if (!time) {
      return error(ErrorCode::kInvalidArgument,
                   "until: neither a time such as 2026-12-31T12:00:00Z nor a duration such as "
                   "\"1h\": " +
                       time.error());
    }
    until = *time > kLongest ? SystemTime::max() : now + *time;
  }
  if (*until <= now) {
    return error(ErrorCode::kInvalidArgument,
                 "until: this time is not in the future; to end a block, send the action unblock");
  }
  if (*until > now + kLongest) {
    return error(ErrorCode::kInvalidArgument,
                 "until: more than a year from now; leave it out to block the host until it is "
                 "unblocked");
  }
  return *until;
}

Result<std::chrono::milliseconds> delay_of(const std::string& text) {
  const auto delay = parse_duration(text);
  if (!delay) return error(ErrorCode::kInvalidArgument, "delay: " + delay.error());
  if (*delay > kLongest) {
    return error(ErrorCode::kInvalidArgument,
                 "delay: more than a year; to stop the requests to a host, block it");
  }
  return *delay;
}

}  // namespace

Result<std::string> host_as_written(std::string_view text) {
  const bool has_scheme = text.find("://") != std::string_view::npos;
  const auto url = Url::parse(has_scheme ? std::string(text) : fmt::format("http://{}/", text));
  // Without a scheme it must be a host and a port alone.
  const bool more = !has_scheme && text.find_first_of("/?#@\\") != std::string_view::npos;
  if (url && !more) {
    if (auto host = politeness_group(*url); !host.empty()) return host;
  }
  return error(ErrorCode::kInvalidArgument,
               fmt::format("\"{}\" is not a host: write example.com, or example.com:8080 for "
                           "another port than 80 and 443",
                           replace_unsafe(text.substr(0, kMostQuotedHost))));
}

Result<HostAction> parse_host_action(std::string_view body, SystemTime now) {
  const json object = json::parse(body, nullptr, false);
  if (!object.is_object()) return bad_action("the body is not a JSON object");
  const auto host = text_of(object, "host");
  if (!host) return tl::unexpected(host.error());
  const auto word = text_of(object, "action");
  if (!word) return tl::unexpected(word.error());
  const auto* const known =
      std::ranges::find(kHostActions, *word, &decltype(kHostActions)::value_type::first);
  if (known == kHostActions.end()) return bad_action("there is no such action");
  auto name = host_as_written(*host);
  if (!name) return tl::unexpected(name.error());
  HostAction action{.host = std::move(*name), .kind = known->second};
  if (action.kind == HostAction::Kind::kBlock && object.contains("until")) {
    const auto text = text_of(object, "until");
    if (!text) return tl::unexpected(text.error());
    const auto until = end_of_block(*text, now);
    if (!until) return tl::unexpected(until.error());
    action.until = *until;
  }
  if (action.kind == HostAction::Kind::kDelay) {
    const auto text = text_of(object, "delay");
    if (!text) return tl::unexpected(text.error());
    const auto delay = delay_of(*text);
    if (!delay) return tl::unexpected(delay.error());
    action.delay = *delay;
  }
  return action;
}

}  // namespace trawl
