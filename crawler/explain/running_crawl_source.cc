#include "crawler/explain/running_crawl_source.h"

#include <utility>

#include "trawl/canonicalizer.h"
#include "trawl/url_groups.h"

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
      return;
    }
    case Kind::kDone:
      state.fetch =
          LastFetch{.fetches = 1, .status = now.status, .ended = now.at.value_or(SystemTime{})};
      return;
  }
}

}  // namespace

UrlKnowledge RunningCrawlSource::look_up(const Url& url, const Profile& profile) {
  UrlKnowledge state{.found = UrlKnowledge::Found::kRunning};
  state.key = Canonicalizer(profile).key(url);
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

Result<std::string> RunningCrawlSource::explain(const UrlQuestion& question) {
  const CrawlConfig config = crawl_.config();
  std::string text = to_toml(config);
  const MutexLock lock(mutex_);
  if (!explainer_ || text != made_of_) {
    auto made = UrlExplainer::create(config);
    if (!made) return tl::unexpected(std::move(made.error()));
    explainer_ = std::move(*made);
    made_of_ = std::move(text);
  }
  const auto json = to_json(explainer_->explain(question, this));
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace trawl
