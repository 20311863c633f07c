#include "crawler/explain/url_explainer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "trawl/canonicalizer.h"
#include "trawl/url_groups.h"

#include "crawler/config/host_politeness.h"
#include "crawler/decide/parked_patterns.h"
#include "crawler/decide/priorities.h"
#include "crawler/decide/url_decider.h"
#include "crawler/decide/url_shape.h"

namespace trawl {

struct UrlExplainer::Rules {
  CrawlConfig config;
  Profile profile;
  Canonicalizer canonicalizer;
  std::vector<Url> seeds;
  UrlDecider decider;
  Priorities priorities;

  bool is_seed(std::string_view key) const {
    return std::ranges::any_of(seeds,
                               [&](const Url& seed) { return canonicalizer.key(seed) == key; });
  }
};

namespace {

// What the crawl knows, for the decider. Facts of a stopped crawl that depend on a config key are
// used only if the key still has the value that the crawl ran with.
class KnownFacts final : public CrawlFacts {
 public:
  KnownFacts(const CrawlConfig& config, const UrlDecider& decider, const UrlKnowledge& state)
      : config_(config), decider_(decider), state_(state) {}

  bool is_held_for(SkipReason reason) const {
    const auto& it = state_.set_aside;
    if (!it || it->state != SetAsideState::kHeld || it->reason != to_string(reason)) return false;
    return state_.found == UrlKnowledge::Found::kRunning || it->rules == decider_.held_by(reason);
  }
  PatternState pattern(const Url& url) override {
    if (is_held_for(SkipReason::kPatternParked)) return PatternState::kParked;
    if (config_.crawl.state_dir.empty()) return PatternState::kOk;
    const auto parked =
        ParkedPatterns::read(config_.crawl.state_dir, config_.scope.park_pattern_after);
    if (!parked) {
      pattern_note_ = parked.error().message;
      return PatternState::kOk;
    }
    return std::ranges::count(*parked, url_pattern_of(url)) > 0 ? PatternState::kParked
                                                                : PatternState::kOk;
  }
  bool host_has_room(const Url&) override { return !is_held_for(SkipReason::kTooManyUrlsOfHost); }
  bool robots_allow(const Url& url) override {
    return !HostPoliteness(config_.politeness).respects_robots(politeness_group(url)) ||
           !is_held_for(SkipReason::kRobots);
  }

  std::string take_pattern_note() { return std::move(pattern_note_); }

 private:
  const CrawlConfig& config_;
  const UrlDecider& decider_;
  const UrlKnowledge& state_;
  std::string pattern_note_;
};

// How the crawl found the URL, if known; what is asked takes precedence.
UrlOrigin origin_of(const UrlQuestion& question, bool seed, const KnownFacts& facts,
                    const UrlKnowledge& state) {
  UrlOrigin origin{.depth = seed ? 0u : 1u};
  if (state.set_aside && state.found == UrlKnowledge::Found::kRead) {
    const SetAsideUrl& held = *state.set_aside;
    origin = UrlOrigin::of(held.depth, held.redirects, UrlNote::decode(held.note));
  }
  origin.nofollow = facts.is_held_for(SkipReason::kNofollow);
  if (question.depth) origin.depth = *question.depth;
  if (question.hops) origin.hops_off_scope = *question.hops;
  return origin;
}

void check_limits(const CrawlConfig::Scope& scope, Explanation& it) {
  it.limits = {
      {.name = "depth", .key = "scope.max_depth", .value = it.depth, .limit = scope.max_depth}};
  for (const UrlLimit& each : url_limits()) {
    const std::uint32_t limit = scope.*each.limit;
    const std::uint64_t value = each.measure(*it.url, limit);
    if (each.reason == SkipReason::kRepeatedSegments) {
      it.max_repeated = limit;
      it.repeated = value > limit;
    } else {
      it.limits.push_back({each.name, config_key_of(each.reason), value, limit});
    }
  }
}

void check_blocklists(const UrlDecider& decider, const Canonicalizer& canonicalizer,
                      Explanation& it) {
  BlockCandidates candidates;
  candidates.set(*it.url, canonicalizer);
  for (const Blocklist& list : decider.scope().blocklists()) {
    BlocklistCheck check{.file = list.name(), .blocked_by = {}};
    if (const auto found = list.find(candidates)) check.blocked_by = std::string(*found);
    it.blocklists.push_back(std::move(check));
  }
}

}  // namespace

UrlExplainer::UrlExplainer(std::unique_ptr<Rules> rules) : rules_(std::move(rules)) {}
UrlExplainer::UrlExplainer(UrlExplainer&&) noexcept = default;
UrlExplainer& UrlExplainer::operator=(UrlExplainer&&) noexcept = default;
UrlExplainer::~UrlExplainer() = default;

const CrawlConfig& UrlExplainer::config() const {
  return rules_->config;
}

Result<UrlExplainer> UrlExplainer::create(const CrawlConfig& config) {
  auto profile = Profile::from_text(config.url.text, config.url.hosts);
  if (!profile) return tl::unexpected(std::move(profile.error()));
  const Canonicalizer canonicalizer(*profile);
  std::vector<Url> seeds;
  for (const std::string& seed : config.crawl.seeds) {
    auto url = Url::parse(seed);
    if (!url) return tl::unexpected(std::move(url.error()));
    seeds.push_back(std::move(*url));
  }
  auto decider = UrlDecider::create(config, seeds, canonicalizer);
  if (!decider) return tl::unexpected(std::move(decider.error()));
  auto priorities = Priorities::create(config.crawl);
  if (!priorities) return tl::unexpected(std::move(priorities.error()));
  return UrlExplainer(
      std::unique_ptr<Rules>(new Rules{config, std::move(*profile), canonicalizer, std::move(seeds),
                                       std::move(*decider), std::move(*priorities)}));
}

Explanation UrlExplainer::explain(const UrlQuestion& question, UrlKnowledgeSource* source) const {
  Explanation it{.text = question.url, .url = {}, .error = {}, .verdict = {}};
  auto url = Url::parse(question.url);
  if (!url) {
    it.error = std::move(url.error().message);
    it.verdict = UrlDecider::decide(url.error());
    return it;
  }
  const CrawlConfig& config = rules_->config;
  it.url = std::move(*url);
  it.key = rules_->canonicalizer.key(*it.url);
  it.group = politeness_group(*it.url);
  it.domain = registrable_domain(it.url->hostname());
  it.pattern = url_pattern_of(*it.url);
  it.seed = rules_->is_seed(it.key);
  it.delay = config.politeness.delay;
  it.directory = config.crawl.state_dir.string();
  if (source != nullptr && !it.directory.empty())
    it.state = source->look_up(*it.url, rules_->profile);
  KnownFacts facts(config, rules_->decider, it.state);
  const UrlOrigin origin = origin_of(question, it.seed, facts, it.state);
  it.depth = origin.depth;
  it.hops = origin.hops_off_scope;
  it.verdict = rules_->decider.decide(*it.url, origin, facts);
  it.pattern_note = facts.take_pattern_note();
  it.priority = rules_->priorities.of(*it.url, it.depth);
  check_limits(config.scope, it);
  check_blocklists(rules_->decider, rules_->canonicalizer, it);
  return it;
}

}  // namespace trawl
