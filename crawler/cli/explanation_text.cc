#include "crawler/cli/explanation_text.h"

#include <chrono>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "crawler/cli/printable_text.h"
#include "crawler/config/config_values.h"

namespace trawl::cli {

namespace {

using nlohmann::ordered_json;

class ExplanationLines {
 public:
  void add(std::string_view name, std::string_view value) {
    text_ += fmt::format("{:<13}{}\n", name, printable(value));
  }
  void add_verdict(std::string_view verdict) { text_ += printable(verdict) + "\n"; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// The value as text; empty for none. The JSON may come from another version of the program.
std::string text_at(const ordered_json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  if (found == json.end() || found->is_null()) return "";
  return found->is_string() ? found->get<std::string>()
                            : found->dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

bool has(const ordered_json& json, const char* key) {
  return json.is_object() && json.contains(key) && !json[key].is_null();
}

// "in, scope.include: other.test/*"
std::string rule_of(const ordered_json& it) {
  const std::string reason = text_at(it, "reason"), key = text_at(it, "config_key"),
                    rule = text_at(it, "rule");
  std::string text = reason.empty() ? "in" : reason;
  if (text_at(it, "off_scope") == "true") text += " although out of scope";
  if (!key.empty()) text += ", " + key;
  if (!rule.empty() && rule != key) text += ": " + rule;
  return text;
}

std::string robots_text(const ordered_json& robots) {
  std::string text = text_at(robots, "allowed") == "true" ? "allowed" : "disallowed";
  text += has(robots, "line")
              ? fmt::format(" by line {}: {}", text_at(robots, "line"), text_at(robots, "text"))
              : fmt::format(" ({})", text_at(robots, "reason"));
  return text + ", " + text_at(robots, "source");
}

std::string host_text(const ordered_json& host) {
  std::string text = fmt::format("{}, {} queued", text_at(host, "state"), text_at(host, "queued"));
  if (has(host, "blocked_until")) text += ", until " + text_at(host, "blocked_until");
  if (const auto n = text_at(host, "failures"); !n.empty() && n != "0")
    text += fmt::format(", failed {} times in a row", n);
  if (has(host, "delay_ms") && host["delay_ms"].is_number_integer())
    text += ", delay " +
            format_duration(std::chrono::milliseconds(host["delay_ms"].get<std::int64_t>()));
  if (has(host, "remaining"))
    text += fmt::format(", {} more to be fetched", text_at(host, "remaining"));
  if (has(host, "next_start")) text += ", next request at " + text_at(host, "next_start");
  return text;
}

void add_state(const ordered_json& state, ExplanationLines& lines) {
  const std::string found = text_at(state, "found"), note = text_at(state, "note"),
                    directory = text_at(state, "directory");
  if (found != "read" && found != "running") {
    lines.add("state", note.empty() ? "no crawl in " + directory : "unknown: " + note);
    return;
  }
  lines.add("state", directory + (found == "running" ? ", where the crawl is running" : ""));
  if (text_at(state, "other_rules") == "true")
    lines.add("its key", text_at(state, "key") + ", by the rules that the crawl was started with");
  lines.add("knows", text_at(state, "knows"));
  if (has(state, "seen")) {
    lines.add("seen", text_at(state, "seen") == "true" ? "yes" : "no");
  } else {
    lines.add("seen", "unknown: " + text_at(state, "seen_note"));
  }
  if (has(state, "fetched_at")) {
    lines.add("fetched", fmt::format("at {} with status {}", text_at(state, "fetched_at"),
                                     text_at(state, "status")));
  } else if (has(state, "fetches")) {
    lines.add("fetched", "not yet");
  }
  if (has(state, "set_aside")) {
    const ordered_json& aside = state["set_aside"];
    lines.add(text_at(aside, "state"),
              fmt::format("{}, since {}", text_at(aside, "reason"), text_at(aside, "since")));
  }
  if (has(state, "waits"))
    lines.add("waits", text_at(state, "waits") +
                           (has(state, "due") ? ", until " + text_at(state, "due") : ""));
  if (has(state, "host")) lines.add("host", host_text(state["host"]));
}

void add_limits(const ordered_json& it, ExplanationLines& lines) {
  if (has(it, "limits") && it["limits"].is_array()) {
    for (const ordered_json& check : it["limits"]) {
      lines.add(
          text_at(check, "name"),
          text_at(check, "value") + (has(check, "limit") ? " of " + text_at(check, "limit") : ""));
    }
  }
  if (has(it, "repeated_segments")) {
    lines.add("repeated", fmt::format("{} ({} times in a row at most)",
                                      text_at(it, "repeated_segments") == "true" ? "yes" : "no",
                                      text_at(it, "max_repeated_segments")));
  }
  if (has(it, "blocklists") && it["blocklists"].is_array()) {
    for (const ordered_json& list : it["blocklists"]) {
      const std::string by = text_at(list, "blocked_by"), file = text_at(list, "file");
      lines.add("blocklist",
                has(list, "blocked_by") ? fmt::format("{} has {}", file, by) : "not in " + file);
    }
  }
}

}  // namespace

std::string explanation_text(const ordered_json& it) {
  ExplanationLines lines;
  lines.add_verdict(text_at(it, "verdict"));
  lines.add("URL", text_at(it, "url"));
  if (has(it, "error")) {
    lines.add("rule", fmt::format("{}: {}", text_at(it, "reason"), text_at(it, "error")));
    return lines.take();
  }
  if (has(it, "state")) add_state(it["state"], lines);
  lines.add("rule", rule_of(it));
  lines.add("key", text_at(it, "key"));
  lines.add("queue",
            fmt::format("{}, of the domain {}", text_at(it, "host"), text_at(it, "domain")));
  lines.add("pattern", text_at(it, "pattern") +
                           (has(it, "pattern_note")
                                ? "; unknown whether it is parked: " + text_at(it, "pattern_note")
                                : ""));
  add_limits(it, lines);
  lines.add("priority", text_at(it, "priority"));
  if (has(it, "robots")) lines.add("robots.txt", robots_text(it["robots"]));
  return lines.take();
}

}  // namespace trawl::cli
