// The answer to "would this URL be fetched?" in one line.
#include <chrono>

#include <fmt/format.h>

#include "base/rfc3339.h"
#include "crawler/config/config_values.h"
#include "crawler/explain/explanation.h"

namespace trawl {

namespace {

using Waits = UrlKnowledge::Waits;

std::string rule_text(const UrlVerdict& verdict) {
  std::string text(verdict.reason ? to_string(*verdict.reason) : "in scope");
  if (verdict.off_scope) text += " although out of scope";
  if (!verdict.key.empty()) text += fmt::format(", {}", verdict.key);
  if (!verdict.rule.empty() && verdict.rule != verdict.key)
    text += fmt::format(": {}", verdict.rule);
  return text;
}

std::string times(std::uint32_t failures) {
  return failures == 0 ? "" : fmt::format(" after {} failures in a row", failures);
}

// Since when or until when the host lets no request start; empty if nothing but its delay does.
std::string obstacle_of(const UrlKnowledge& state) {
  const HostInfo& host = state.host;
  const auto until = host.settings.blocked_until;
  switch (host.state) {
    case HostState::kParked:
      return fmt::format("{}, since its host {} is parked{}",
                         until && *until < HostSettings::kParked
                             ? "at " + to_rfc3339(*until)
                             : "when its host is revived (trawl frontier revive)",
                         host.host, times(host.failures));
    case HostState::kBlocked:
      return fmt::format("{}, since its host {} is blocked{}",
                         until && *until < HostSettings::kParked ? "at " + to_rfc3339(*until)
                                                                 : "when its host is unblocked",
                         host.host, times(host.failures));
    case HostState::kAtLimit:
      return fmt::format(
          "when its limit is raised, since its host {} is at scope.max_pages_per_host", host.host);
    case HostState::kActive:
      break;
  }
  return "";
}

// When a URL that nothing forbids is fetched.
std::string when(const Explanation& it) {
  const UrlKnowledge& state = it.state;
  const bool runs = state.found == UrlKnowledge::Found::kRunning;
  std::string text;
  if (state.found == UrlKnowledge::Found::kRead) text = "when the crawl is resumed, ";
  if (state.draining) text = "when the crawl is resumed (it is stopping now), ";
  if (state.paused) text = "when the crawl goes on (it is paused), ";
  if (const auto obstacle = obstacle_of(state); !obstacle.empty()) return text + obstacle;
  const auto now = std::chrono::system_clock::now();
  if (state.due && *state.due > now) {
    return text + "at " + to_rfc3339(*state.due) + ", as a retry or a recrawl";
  }
  const auto delay = state.delay.value_or(state.host.settings.delay.value_or(it.delay));
  const std::uint64_t others = state.waits == Waits::kQueued && state.host.queued > 0
                                   ? state.host.queued - 1
                                   : state.host.queued;
  const std::string queue =
      others == 0 ? "" : fmt::format("; up to {} URLs of its host come first", others);
  if (runs && state.next_start && *state.next_start > now) {
    return text + fmt::format("after the host's delay of {}, at {} at the earliest{}",
                              format_duration(delay), to_rfc3339(*state.next_start), queue);
  }
  if (others > 0 && delay.count() > 0)
    return text + fmt::format("after the host's delay of {}{}", format_duration(delay), queue);
  // "when the crawl is resumed, " without the comma
  return (text.empty() ? "now" : text.substr(0, text.size() - 2)) + queue;
}

std::string set_aside_text(const SetAsideUrl& aside) {
  std::string text = aside.reason == "status" && aside.status != 0 ? "" : aside.reason;
  if (aside.status != 0) text += fmt::format("{}status {}", text.empty() ? "" : ", ", aside.status);
  return text + ", at " + to_rfc3339(aside.since);
}

// Whether a later run, or this one, queues a held URL again that its rules allow.
bool is_offered_again(const SetAsideUrl& held) {
  return skip_reason_of(held.reason).has_value() || held.reason == "robots unavailable" ||
         held.reason == "TLS refused" || held.reason == "address refused";
}

FetchAnswer no(std::string why) {
  return {.would_be_fetched = false, .line = "would not be fetched: " + std::move(why)};
}
FetchAnswer not_again(std::string why) {
  return {.would_be_fetched = false, .line = "would not be fetched again: " + std::move(why)};
}
FetchAnswer yes(std::string when_and_why) {
  return {.would_be_fetched = true, .line = "would be fetched: " + std::move(when_and_why)};
}

FetchAnswer of_held(const Explanation& it) {
  const SetAsideUrl& held = *it.state.set_aside;
  if (it.state.found == UrlKnowledge::Found::kRunning || !is_offered_again(held))
    return no("held for the reason " + set_aside_text(held));
  return yes(fmt::format("when the crawl is resumed; the last run held it for the reason {}",
                         set_aside_text(held)));
}

}  // namespace

FetchAnswer answer_of(const Explanation& it) {
  if (!it.url) return no(fmt::format("{}: {}", to_string(*it.verdict.reason), it.error));
  if (!it.verdict.is_fetched()) return no(rule_text(it.verdict));
  if (!it.pattern_note.empty()) {
    return {.would_be_fetched = false,
            .line = "unknown whether it would be fetched: " + it.pattern_note};
  }
  const UrlKnowledge& state = it.state;
  if (state.waits == Waits::kLeased) return yes("now, its request is under way");
  if (state.waits != Waits::kNo) return yes(when(it));
  if (state.set_aside && state.set_aside->state == SetAsideState::kHeld) return of_held(it);
  if (state.set_aside) {
    return not_again(fmt::format("it failed: {}; trawl frontier retry queues it again",
                                 set_aside_text(*state.set_aside)));
  }
  if (state.fetch && state.fetch->fetches > 0) {
    return not_again(fmt::format("it was fetched at {} with status {}",
                                 to_rfc3339(state.fetch->ended), state.fetch->status));
  }
  if (state.seen.value_or(false)) {
    return not_again("it was seen before" +
                     std::string(state.fetch ? "" : "; how its fetch ended is not recorded"));
  }
  const bool met = it.seed && state.found == UrlKnowledge::Found::kNoCrawl;
  return yes(fmt::format("{}{} ({})", when(it), met ? "" : ", once a page links to it",
                         rule_text(it.verdict)));
}

}  // namespace trawl
