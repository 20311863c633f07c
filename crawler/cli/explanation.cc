#include "crawler/cli/explanation.h"

#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/rfc3339.h"
#include "crawler/cli/printable_text.h"
#include "crawler/cli/state_names.h"
#include "crawler/config/config_values.h"

namespace trawl::cli {

namespace {

using nlohmann::ordered_json;

std::string_view name_of(StoredUrlState::Found found) {
  switch (found) {
    case StoredUrlState::Found::kNoCrawl:
      return "no crawl";
    case StoredUrlState::Found::kInUse:
      return "in use";
    case StoredUrlState::Found::kUnreadable:
      return "unreadable";
    case StoredUrlState::Found::kRead:
      return "read";
  }
  return "";
}

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

// --- text

class Lines {
 public:
  void add(std::string_view name, std::string_view value) {
    text_ += fmt::format("{:<13}{}\n", name, printable(value));
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string_view name_of(SetAsideState state) {
  return state == SetAsideState::kHeld ? "held" : "failed";
}

// "in, scope.include: other.test/*"
std::string text_of(const UrlVerdict& verdict) {
  std::string text(verdict.reason ? to_string(*verdict.reason) : "in");
  if (verdict.off_scope) text += " although out of scope";
  if (!verdict.key.empty()) text += fmt::format(", {}", verdict.key);
  if (!verdict.rule.empty() && verdict.rule != verdict.key)
    text += fmt::format(": {}", verdict.rule);
  return text;
}

std::string text_of(const RobotsCheck& robots) {
  std::string text = robots.decision.allowed ? "allowed" : "disallowed";
  if (robots.decision.reason == RobotsReason::kRule) {
    text += fmt::format(" by line {}: {}", robots.decision.line, robots.decision.text);
  } else {
    text += fmt::format(" ({})", to_string(robots.decision.reason));
  }
  return text + ", " + robots.source;
}

std::string text_of(const HostInfo& host) {
  std::string text = fmt::format("{}, {} queued", to_string(host.state), host.queued);
  if (host.settings.blocked_until) text += ", until " + to_rfc3339(*host.settings.blocked_until);
  if (host.failures > 0) text += fmt::format(", failed {} times in a row", host.failures);
  if (host.settings.delay) text += ", delay " + format_duration(*host.settings.delay);
  if (host.settings.limit) text += fmt::format(", {} more to be fetched", *host.settings.limit);
  return text;
}

void add_state(const Explanation& it, Lines& lines) {
  if (it.directory.empty()) return;
  const StoredUrlState& state = it.state;
  if (state.found != StoredUrlState::Found::kRead) {
    lines.add("state", state.note.empty() ? fmt::format("no crawl in {}", it.directory)
                                          : fmt::format("unknown: {}", state.note));
    return;
  }
  lines.add("state", it.directory);
  if (state.other_rules)
    lines.add("its key", state.key + ", by the rules that the crawl was started with");
  if (state.seen) {
    lines.add("seen", *state.seen ? "yes" : "no");
  } else {
    lines.add("seen", "unknown: " + state.seen_note);
  }
  if (state.fetch && state.fetch->fetches > 0) {
    lines.add("fetched", fmt::format("{} times, last at {} with status {}", state.fetch->fetches,
                                     to_rfc3339(state.fetch->ended), state.fetch->status));
  } else if (state.fetch) {
    lines.add("fetched", "not yet");
  }
  if (state.set_aside) {
    lines.add(name_of(state.set_aside->state), fmt::format("{}, since {}", state.set_aside->reason,
                                                           to_rfc3339(state.set_aside->since)));
  }
  lines.add("host", text_of(state.host));
}

// --- JSON

ordered_json json_of(const StoredUrlState& state, const std::string& directory) {
  ordered_json json{{"directory", directory}, {"found", name_of(state.found)}};
  if (!state.note.empty()) json["note"] = state.note;
  if (state.found != StoredUrlState::Found::kRead) return json;
  json["key"] = state.key;
  json["other_rules"] = state.other_rules;
  json["seen"] = or_null(state.seen);
  if (!state.seen) json["seen_note"] = state.seen_note;
  if (state.fetch) {
    json["fetches"] = state.fetch->fetches;
    if (state.fetch->fetches > 0) {
      json["status"] = state.fetch->status;
      json["fetched_at"] = to_rfc3339(state.fetch->ended);
    }
  }
  if (state.set_aside) {
    json["set_aside"] = {{"state", name_of(state.set_aside->state)},
                         {"reason", state.set_aside->reason},
                         {"since", to_rfc3339(state.set_aside->since)}};
  }
  ordered_json host{{"state", to_string(state.host.state)},
                    {"queued", state.host.queued},
                    {"failures", state.host.failures}};
  if (state.host.settings.blocked_until)
    host["blocked_until"] = to_rfc3339(*state.host.settings.blocked_until);
  if (state.host.settings.delay) host["delay_ms"] = state.host.settings.delay->count();
  if (state.host.settings.limit) host["remaining"] = *state.host.settings.limit;
  json["host"] = std::move(host);
  return json;
}

ordered_json json_of(const RobotsCheck& robots) {
  const bool rule = robots.decision.reason == RobotsReason::kRule;
  return {{"source", robots.source},
          {"allowed", robots.decision.allowed},
          {"line", rule ? ordered_json(robots.decision.line) : ordered_json()},
          {"text", rule ? ordered_json(robots.decision.text) : ordered_json()},
          {"reason", to_string(robots.decision.reason)}};
}

void add_checks(const Explanation& it, ordered_json& json) {
  json["limits"] = ordered_json::array();
  for (const LimitCheck& check : it.limits) {
    json["limits"].push_back(
        {{"key", check.key}, {"value", check.value}, {"limit", or_null(check.limit)}});
  }
  json["repeated_segments"] = or_null(it.repeated);
  json["blocklists"] = ordered_json::array();
  for (const BlocklistCheck& list : it.blocklists)
    json["blocklists"].push_back({{"file", list.file}, {"blocked_by", or_null(list.blocked_by)}});
}

}  // namespace

std::string as_text(const Explanation& it) {
  Lines lines;
  lines.add("URL", it.url ? it.url->href() : it.text);
  if (!it.url) {
    lines.add("verdict", fmt::format("{}: {}", to_string(*it.verdict.reason), it.error));
    return lines.take();
  }
  lines.add("key", it.key);
  lines.add("queue", fmt::format("{}, of the domain {}", it.group, it.domain));
  lines.add("pattern", it.pattern);
  for (const LimitCheck& check : it.limits) {
    lines.add(check.name, check.limit ? fmt::format("{} of {}", check.value, *check.limit)
                                      : fmt::format("{}", check.value));
  }
  if (it.repeated)
    lines.add("repeated", fmt::format("{} ({} times in a row at most)", *it.repeated ? "yes" : "no",
                                      it.max_repeated));
  for (const BlocklistCheck& list : it.blocklists) {
    lines.add("blocklist", list.blocked_by ? fmt::format("{} has {}", list.file, *list.blocked_by)
                                           : fmt::format("not in {}", list.file));
  }
  lines.add("priority", fmt::format("{}", it.priority));
  if (it.robots) lines.add("robots.txt", text_of(*it.robots));
  add_state(it, lines);
  lines.add("scope", text_of(it.verdict));
  return lines.take();
}

std::string as_json(const Explanation& it) {
  ordered_json json{
      {"url", it.url ? it.url->href() : std::string_view(it.text)},
      {"followed", it.followed()},
      {"in_scope", it.verdict.is_fetched()},
      {"reason", it.verdict.reason ? ordered_json(to_string(*it.verdict.reason)) : ordered_json()},
      {"config_key", it.verdict.key},
      {"rule", it.verdict.rule},
      {"off_scope", it.verdict.off_scope}};
  if (it.url) {
    json["key"] = it.key;
    json["host"] = it.group;
    json["domain"] = it.domain;
    json["pattern"] = it.pattern;
    json["seed"] = it.seed;
    json["depth"] = it.depth;
    json["hops"] = it.hops;
    json["priority"] = it.priority;
    add_checks(it, json);
    json["robots"] = it.robots ? json_of(*it.robots) : ordered_json();
    json["state"] = it.directory.empty() ? ordered_json() : json_of(it.state, it.directory);
  } else {
    json["error"] = it.error;
  }
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace trawl::cli
