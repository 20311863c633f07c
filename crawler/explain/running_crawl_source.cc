#include "crawler/explain/running_crawl_source.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "trawl/url_groups.h"

#include "crawler/run/crawl_context.h"

namespace trawl {

namespace {

void set_url_state(const Url& url, const UrlState& now, UrlKnowledge& state) {
  using Kind = UrlState::Kind;
  state.seen = now.kind != Kind::kUnknown && now.kind != Kind::kHeld;
  switch (now.kind) {
    case Kind::kUnknown:
    case Kind::kSeen:
      return;
    case Kind::kWaiting:
      state.waits = UrlKnowledge::Waits::kQueued;
      return;
    case Kind::kDeferred:
      state.waits = UrlKnowledge::Waits::kDeferred;
      state.due = now.at;
      return;
    case Kind::kLeased:
      state.waits = UrlKnowledge::Waits::kLeased;
      return;
    case Kind::kHeld:
    case Kind::kFailed: {
      SetAsideUrl& aside = state.set_aside.emplace();
      aside.state = now.kind == Kind::kHeld ? SetAsideState::kHeld : SetAsideState::kFailed;
      aside.url = url.href();
      aside.host = now.host;
      aside.reason = now.reason;
      aside.status = now.status;
      aside.since = now.at.value_or(SystemTime{});
      aside.depth = now.depth;
      aside.redirects = now.redirects;
      aside.note = now.note;
      return;
    }
    case Kind::kDone:
      state.fetch = LastFetch{
          .fetches = now.fetches, .status = now.status, .ended = now.at.value_or(SystemTime{})};
      return;
  }
}

}  // namespace

UrlKnowledge RunningCrawlSource::look_up(const Url& url) {
  UrlKnowledge state{.found = UrlKnowledge::Found::kRunning};
  const auto now = crawl_.lookup(std::string(url.href_without_fragment()));
  if (!now) {
    state.found = UrlKnowledge::Found::kUnreadable;
    state.note = now.error().message;
    return state;
  }
  set_url_state(url, *now, state);
  state.paused = crawl_.paused();
  state.draining = crawl_.phase() != CrawlPhase::kRunning;
  state.host.host = politeness_group(url);
  const auto row = crawl_.host(state.host.host);
  if (!row) return state;
  state.host.state = row->state;
  state.host.queued = row->queued;
  state.host.leased = row->leased;
  state.host.failures = row->failures;
  state.host.settings.blocked_until = row->blocked_until;
  state.delay = row->delay;
  state.next_start = row->next_start;
  state.host_reason = row->reason;
  return state;
}

std::string RunningCrawlSource::explain(const UrlQuestion& question) {
  nlohmann::ordered_json json;
  if (auto url = Url::parse(question.url)) {
    // Before the rules are used, since it may take long.
    UrlKnowledge known = look_up(*url);
    crawl_.with_rules([&](const CrawlConfig& config, const CrawlRules& rules) {
      const auto is_seed = [&](std::string_view key) {
        return std::ranges::any_of(config.crawl.seeds, [&](const std::string& text) {
          const auto seed = Url::parse(text);
          return seed && rules.canonicalizer.key(*seed) == key;
        });
      };
      known.key = rules.canonicalizer.key(*url);
      json = to_json(
          explain_url({config, rules.canonicalizer, rules.decider, rules.priorities, is_seed},
                      question, *url, std::move(known)));
    });
  } else {
    json = to_json(explain_invalid(question, std::move(url.error())));
  }
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace trawl
