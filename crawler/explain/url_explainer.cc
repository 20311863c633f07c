#include "crawler/explain/url_explainer.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "trawl/canonicalizer.h"
#include "trawl/url_groups.h"

#include "crawler/config/host_politeness.h"
#include "crawler/decide/parked_patterns.h"
#include "crawler/decide/url_shape.h"

namespace trawl {

struct UrlExplainer::Rules {
  CrawlConfig config;
  Profile profile;
  Canonicalizer canonicalizer;
  UrlDecider decider;
  Priorities priorities;
  std::unordered_set<std::string> seed_keys;
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
  UrlOrigin origin{.depth = seed ? 0u : 1u,
                   .found = {seed ? FoundAs::kSeed : FoundAs::kNavigation}};
  if (state.set_aside && state.is_known()) {
    const SetAsideUrl& held = *state.set_aside;
    origin = UrlOrigin::of(held.depth, held.redirects, UrlNote::decode(held.note));
  }
  origin.nofollow = facts.is_held_for(SkipReason::kNofollow);
  if (question.depth) origin.depth = *question.depth;
  if (question.hops) origin.hops_off_scope = *question.hops;
  if (question.kind) origin.found = {*question.kind};
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
  std::unordered_set<std::string> seed_keys;
  for (const Url& seed : seeds)
    seed_keys.insert(canonicalizer.key(seed));
  return UrlExplainer(std::unique_ptr<Rules>(new Rules{config, std::move(*profile), canonicalizer,
                                                       std::move(*decider), std::move(*priorities),
                                                       std::move(seed_keys)}));
}

Explanation UrlExplainer::explain(const UrlQuestion& question, UrlKnowledgeSource* source) const {
  auto url = Url::parse(question.url);
  if (!url) return explain_invalid(question, std::move(url.error()));
  UrlKnowledge known;
  if (source != nullptr && !rules_->config.crawl.state_dir.empty())
    known = source->look_up(*url, rules_->profile);
  const auto is_seed = [this](std::string_view key) {
    return rules_->seed_keys.contains(std::string(key));
  };
  return explain_url(
      {rules_->config, rules_->canonicalizer, rules_->decider, rules_->priorities, is_seed},
      question, *url, std::move(known));
}

Explanation explain_invalid(const UrlQuestion& question, Error why) {
  Explanation it{.text = question.url, .url = {}, .error = {}, .verdict = {}};
  it.verdict = UrlDecider::decide(why);
  it.error = std::move(why.message);
  return it;
}

Explanation explain_url(const ExplainingRules& rules, const UrlQuestion& question, const Url& url,
                        UrlKnowledge known) {
  Explanation it{.text = question.url, .url = url, .error = {}, .verdict = {}};
  const CrawlConfig& config = rules.config;
  it.key = rules.canonicalizer.key(url);
  it.group = politeness_group(url);
  it.domain = registrable_domain(url.hostname());
  it.pattern = url_pattern_of(url);
  it.seed = rules.is_seed(it.key);
  it.delay = config.politeness.delay;
  it.directory = config.crawl.state_dir.string();
  it.state = std::move(known);
  KnownFacts facts(config, rules.decider, it.state);
  UrlOrigin origin = origin_of(question, it.seed, facts, it.state);
  if (origin.seed == 0) origin.seed = rules.decider.seeds().id_of(url);
  it.depth = origin.depth;
  it.hops = origin.hops_off_scope;
  it.verdict = rules.decider.decide(url, origin, facts);
  it.pattern_note = facts.take_pattern_note();
  it.priority =
      rules.priorities.of(url, it.depth, std::nullopt, rules.decider.seeds().find(origin.seed));
  check_limits(config.scope, it);
  check_blocklists(rules.decider, rules.canonicalizer, it);
  return it;
}

}  // namespace trawl
