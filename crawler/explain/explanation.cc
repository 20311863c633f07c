#include "crawler/explain/explanation.h"

#include <fmt/format.h>

#include "base/rfc3339.h"
#include "crawler/explain/state_names.h"

namespace trawl {

namespace {

using nlohmann::ordered_json;

std::string_view name_of(UrlKnowledge::Found found) {
  switch (found) {
    case UrlKnowledge::Found::kNoCrawl:
      return "no crawl";
    case UrlKnowledge::Found::kInUse:
      return "in use";
    case UrlKnowledge::Found::kUnreadable:
      return "unreadable";
    case UrlKnowledge::Found::kRead:
      return "read";
    case UrlKnowledge::Found::kRunning:
      return "running";
  }
  return "";
}

std::string_view name_of(UrlKnowledge::Waits waits) {
  switch (waits) {
    case UrlKnowledge::Waits::kNo:
      return "no";
    case UrlKnowledge::Waits::kQueued:
      return "queued";
    case UrlKnowledge::Waits::kDeferred:
      return "deferred";
    case UrlKnowledge::Waits::kLeased:
      return "leased";
  }
  return "";
}

std::string_view name_of(SetAsideState state) {
  return state == SetAsideState::kHeld ? "held" : "failed";
}

// What the crawl knows of the URL, in a word.
std::string_view knowledge_of(const UrlKnowledge& state) {
  if (!state.is_known())
    return state.found == UrlKnowledge::Found::kNoCrawl ? "no crawl" : "unknown";
  if (state.waits != UrlKnowledge::Waits::kNo) return name_of(state.waits);
  if (state.set_aside) return name_of(state.set_aside->state);
  if (state.fetch && state.fetch->fetches > 0) return "fetched";
  if (!state.seen) return "unknown";
  return *state.seen ? "seen" : "not seen";
}

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

ordered_json host_json_of(const UrlKnowledge& state) {
  const HostInfo& known = state.host;
  ordered_json host{
      {"state", to_string(known.state)}, {"queued", known.queued}, {"failures", known.failures}};
  if (known.settings.blocked_until)
    host["blocked_until"] = to_rfc3339(*known.settings.blocked_until);
  if (state.delay) {
    host["delay_ms"] = state.delay->count();
  } else if (known.settings.delay) {
    host["delay_ms"] = known.settings.delay->count();
  }
  if (known.settings.limit) host["remaining"] = *known.settings.limit;
  if (state.next_start) host["next_start"] = to_rfc3339(*state.next_start);
  if (!state.host_reason.empty()) host["reason"] = state.host_reason;
  return host;
}

ordered_json json_of(const UrlKnowledge& state, const std::string& directory) {
  ordered_json json{
      {"directory", directory}, {"found", name_of(state.found)}, {"knows", knowledge_of(state)}};
  if (!state.note.empty()) json["note"] = state.note;
  if (!state.is_known()) return json;
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
                         {"status", state.set_aside->status},
                         {"since", to_rfc3339(state.set_aside->since)}};
  }
  if (state.waits != UrlKnowledge::Waits::kNo) json["waits"] = name_of(state.waits);
  if (state.due) json["due"] = to_rfc3339(*state.due);
  if (state.found == UrlKnowledge::Found::kRunning) json["paused"] = state.paused;
  json["host"] = host_json_of(state);
  return json;
}

void add_checks(const Explanation& it, ordered_json& json) {
  json["limits"] = ordered_json::array();
  for (const LimitCheck& check : it.limits) {
    json["limits"].push_back({{"name", check.name},
                              {"key", check.key},
                              {"value", check.value},
                              {"limit", or_null(check.limit)}});
  }
  json["repeated_segments"] = or_null(it.repeated);
  json["max_repeated_segments"] = it.max_repeated;
  json["blocklists"] = ordered_json::array();
  for (const BlocklistCheck& list : it.blocklists)
    json["blocklists"].push_back({{"file", list.file}, {"blocked_by", or_null(list.blocked_by)}});
}

}  // namespace

ordered_json to_json(const Explanation& it) {
  const FetchAnswer answer = answer_of(it);
  const bool allowed = it.verdict.is_fetched() && it.pattern_note.empty();
  ordered_json json{
      {"verdict", answer.line},
      {"would_be_fetched", answer.would_be_fetched},
      {"url", it.url ? it.url->href() : std::string_view(it.text)},
      {"followed", allowed},
      {"in_scope", it.verdict.is_fetched()},
      {"reason", it.verdict.reason ? ordered_json(to_string(*it.verdict.reason)) : ordered_json()},
      {"config_key", it.verdict.key},
      {"rule", it.verdict.rule},
      {"off_scope", it.verdict.off_scope}};
  if (!it.url) {
    json["error"] = it.error;
    return json;
  }
  json["key"] = it.key;
  json["host"] = it.group;
  json["domain"] = it.domain;
  json["pattern"] = it.pattern;
  if (!it.pattern_note.empty()) json["pattern_note"] = it.pattern_note;
  json["seed"] = it.seed;
  json["depth"] = it.depth;
  json["hops"] = it.hops;
  json["priority"] = it.priority;
  add_checks(it, json);
  json["robots"] = nullptr;
  json["state"] = it.directory.empty() ? ordered_json() : json_of(it.state, it.directory);
  return json;
}

void add_robots(ordered_json& explanation, const RobotsCheck& robots) {
  const bool rule = robots.decision.reason == RobotsReason::kRule;
  explanation["robots"] = {{"source", robots.source},
                           {"allowed", robots.decision.allowed},
                           {"line", rule ? ordered_json(robots.decision.line) : ordered_json()},
                           {"text", rule ? ordered_json(robots.decision.text) : ordered_json()},
                           {"reason", to_string(robots.decision.reason)},
                           {"obeyed", robots.obeyed}};
  if (robots.decision.allowed || !robots.obeyed || !explanation.value("in_scope", false)) return;
  explanation["followed"] = false;
  explanation["would_be_fetched"] = false;
  explanation["verdict"] = rule ? fmt::format("would not be fetched: robots.txt, line {}: {}",
                                              robots.decision.line, robots.decision.text)
                                : fmt::format("would not be fetched: robots.txt ({})",
                                              to_string(robots.decision.reason));
}

}  // namespace trawl
