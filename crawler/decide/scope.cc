#include "crawler/decide/scope.h"

#include <utility>

#include "crawler/decide/url_shape.h"

namespace trawl {

namespace {

UrlVerdict passes_by(std::string_view key) {
  return {.reason = std::nullopt, .rule = key, .key = key};
}

UrlVerdict fails_by(SkipReason reason) {
  const std::string_view key = config_key_of(reason);
  return {.reason = reason, .rule = key, .key = key};
}

constexpr UrlLimit kUrlLimits[] = {
    {SkipReason::kTooLong, "length", &CrawlConfig::Scope::max_url_length,
     [](const Url& url, std::uint32_t) {
       return std::uint64_t{url.href_without_fragment().size()};
     }},
    {SkipReason::kTooManySegments, "segments", &CrawlConfig::Scope::max_path_segments,
     [](const Url& url, std::uint32_t) { return std::uint64_t{count_path_segments(url.path())}; }},
    {SkipReason::kRepeatedSegments, "repeated", &CrawlConfig::Scope::max_repeated_segments,
     [](const Url& url, std::uint32_t limit) {
       const std::uint32_t segments = count_path_segments(url.path());
       const bool exceeded = has_repeated_segments(url.path(), segments, limit);
       return exceeded ? std::uint64_t{limit} + 1 : 0;
     }},
    {SkipReason::kTooManyParameters, "parameters", &CrawlConfig::Scope::max_query_parameters,
     [](const Url& url, std::uint32_t) {
       return std::uint64_t{count_query_parameters(url.query())};
     }},
};

}  // namespace

std::span<const UrlLimit> url_limits() {
  return kUrlLimits;
}

Result<std::unique_ptr<Scope>> Scope::create(const CrawlConfig::Scope& config,
                                             const std::vector<Url>& seeds,
                                             const Canonicalizer& canonicalizer,
                                             std::shared_ptr<const SeedRedirects> redirects,
                                             std::shared_ptr<const SeedSettings> settings) {
  if (settings != nullptr && settings->empty()) settings = nullptr;
  std::unique_ptr<Scope> scope(
      new Scope(config, canonicalizer, std::move(redirects), std::move(settings)));
  if (auto added = scope->add_rules(); !added) return tl::unexpected(std::move(added.error()));
  for (const std::filesystem::path& file : config.blocklist) {
    auto list = Blocklist::open(file, canonicalizer);
    if (!list) {
      list.error().message = "scope.blocklist: " + list.error().message;
      return tl::unexpected(std::move(list.error()));
    }
    scope->blocklists_.push_back(std::move(*list));
  }
  std::vector<Url> general = seeds;
  if (scope->settings_ != nullptr)
    std::erase_if(general, [&](const Url& seed) { return scope->settings_->has_own_scope(seed); });
  scope->seeds_.add(general);
  return scope;
}

Result<void> Scope::add_rules() {
  std::vector<UrlPattern> patterns;
  const auto add = [&](bool include, const std::string& text, const std::string& name,
                       std::string_view key, FoundKinds kinds = {}) -> Result<void> {
    auto pattern = UrlPattern::parse(text);
    if (!pattern) {
      return error(pattern.error().code, std::string(key) + ": " + pattern.error().message);
    }
    patterns.push_back(std::move(*pattern));
    rules_.push_back(
        {.include = include, .name = name.empty() ? text : name, .key = key, .kinds = kinds});
    if (!kinds.empty()) has_rules_by_kind_ = true;
    return {};
  };
  for (const ScopeRuleText& rule : config_.rules) {
    if (auto ok = add(rule.include, rule.pattern, rule.name, "scope.rules", rule.kinds); !ok)
      return ok;
  }
  for (const std::string& pattern : config_.exclude) {
    if (auto ok = add(false, pattern, {}, "scope.exclude"); !ok) return ok;
  }
  for (const std::string& pattern : config_.include) {
    if (auto ok = add(true, pattern, {}, "scope.include"); !ok) return ok;
  }
  auto set = UrlPatternSet::create(std::move(patterns));
  if (!set) return tl::unexpected(std::move(set.error()));
  patterns_ = std::move(*set);
  return {};
}

UrlVerdict Scope::check(const Url& url, std::uint32_t depth, std::uint32_t hops_off_scope,
                        FoundKinds found, SeedSettings::Id seed) const {
  if (const auto refused = refuse(url)) return *refused;
  return check_rules(url, depth, hops_off_scope, found, seed);
}

UrlVerdict Scope::check_requisite(const Url& url, FoundKinds found) const {
  if (const auto refused = refuse(url)) return *refused;
  const Rule* rule = find_rule(url, found);
  if (rule == nullptr) return passes_by("links.requisites");
  if (rule->include) return {.reason = std::nullopt, .rule = rule->name, .key = rule->key};
  return {.reason = SkipReason::kExcluded, .rule = rule->name, .key = rule->key};
}

std::optional<UrlVerdict> Scope::refuse(const Url& url) const {
  if (const auto reason = check_shape(url)) return fails_by(*reason);
  if (!blocklists_.empty()) {
    thread_local BlockCandidates candidates;
    candidates.set(url, canonicalizer_);
    for (const Blocklist& list : blocklists_) {
      if (list.find(candidates)) {
        return UrlVerdict{
            .reason = SkipReason::kBlocked, .rule = list.name(), .key = "scope.blocklist"};
      }
    }
  }
  return std::nullopt;
}

std::optional<SkipReason> Scope::check_shape(const Url& url) const {
  for (const UrlLimit& each : kUrlLimits) {
    const std::uint32_t limit = config_.*each.limit;
    if (each.measure(url, limit) > limit) return each.reason;
  }
  return std::nullopt;
}

// The first rule for the URL; null if there is none.
const Scope::Rule* Scope::find_rule(const Url& url, FoundKinds found) const {
  if (patterns_.empty()) return nullptr;
  thread_local std::string scratch;
  const std::string_view href = spelling_.key_view(url, scratch);
  if (!has_rules_by_kind_) {
    const auto match = patterns_.first_match(href);
    return match ? &rules_[*match] : nullptr;
  }
  thread_local std::vector<int> matches;
  patterns_.all_matches(href, matches);
  const Rule* first = nullptr;
  for (const int number : matches) {
    const Rule& rule = rules_[static_cast<std::size_t>(number)];
    if (!rule.kinds.empty() && !rule.kinds.intersects(found)) continue;
    if (first == nullptr || &rule < first) first = &rule;
  }
  return first;
}

// Checks that depend on the URL alone come first, so that an excluded URL gets the same reason
// wherever it is linked, and is not held as too deep.
UrlVerdict Scope::check_rules(const Url& url, std::uint32_t depth, std::uint32_t hops_off_scope,
                              FoundKinds found, SeedSettings::Id seed) const {
  const SeedSettings::Own* own = settings_ == nullptr ? nullptr : settings_->find(seed);
  const bool too_deep = is_too_deep(depth, own);
  if (const Rule* rule = find_rule(url, found)) {
    if (!rule->include)
      return {.reason = SkipReason::kExcluded, .rule = rule->name, .key = rule->key};
    // What another seed has in its scope is not lost by a rule that includes it.
    if (too_deep && !check_seeds(url, depth, own).is_fetched())
      return fails_by(SkipReason::kTooDeep);
    return {.reason = std::nullopt, .rule = rule->name, .key = rule->key};
  }
  UrlVerdict by_seeds = check_seeds(url, depth, own);
  if (by_seeds.is_fetched()) return by_seeds;
  if (too_deep || by_seeds.reason == SkipReason::kTooDeep) return fails_by(SkipReason::kTooDeep);
  if (hops_off_scope < config_.extra_hops) {
    UrlVerdict verdict = passes_by("scope.extra_hops");
    verdict.off_scope = true;
    return verdict;
  }
  return fails_by(SkipReason::kOutOfScope);
}

// Whether the URL belongs to a seed: to that from which it was found, or to another.
UrlVerdict Scope::check_seeds(const Url& url, std::uint32_t depth,
                              const SeedSettings::Own* own) const {
  bool too_deep = false;
  if (own != nullptr && own->members.covers(url)) {
    if (!is_too_deep(depth, own)) return passes_by("crawl.seed");
    too_deep = true;
  }
  if (seeds_.covers(url)) {
    if (!is_too_deep(depth, nullptr)) return passes_by("scope.type");
    too_deep = true;
  }
  if (redirects_ != nullptr) {
    const auto place = redirects_->place_of(url, depth);
    if (place == SeedSettings::Place::kInside) return passes_by("scope.type");
    too_deep |= place == SeedSettings::Place::kTooDeep;
  }
  if (settings_ != nullptr) {
    const auto place = settings_->place_of(url, depth);
    if (place == SeedSettings::Place::kInside) return passes_by("crawl.seed");
    too_deep |= place == SeedSettings::Place::kTooDeep;
  }
  return fails_by(too_deep ? SkipReason::kTooDeep : SkipReason::kOutOfScope);
}

bool Scope::is_too_deep(std::uint32_t depth, const SeedSettings::Own* own) const {
  const auto& most = own != nullptr && own->depth ? own->depth : config_.max_depth;
  return most && depth > *most;
}

}  // namespace trawl
