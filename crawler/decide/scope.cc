#include "crawler/decide/scope.h"

#include <algorithm>
#include <utility>

#include "trawl/url_groups.h"

#include "crawler/decide/url_shape.h"

namespace trawl {

namespace {

// politeness_group(), as a view if the URL contains it in one piece.
std::string_view group_view(const Url& url, std::string& scratch) {
  const std::string_view host = group_host(url);
  const std::string_view port = url.port();
  if (port.empty() || port == "80" || port == "443") return host;
  if (host.size() == url.hostname().size()) return url.host();
  scratch = politeness_group(url);
  return scratch;
}

// The part of a normalised URL after the politeness group: "/path?query".
std::string_view behind_authority(std::string_view href) {
  return href.substr(href.find('/', href.find("://") + 3));
}

// Prefixes and pages are compared without the scheme, since sites respond to both.
std::string page_of(const Url& url, const Canonicalizer& canonicalizer) {
  return politeness_group(url) + std::string(behind_authority(canonicalizer.key(url)));
}
std::string path_of(const Url& url, const Canonicalizer& spelling) {
  std::string page = page_of(url, spelling);
  page.erase(std::min(page.find('?'), page.size()));
  return page;
}

// Removes prefixes that begin with another prefix.
void remove_covered(std::vector<std::string>& prefixes) {
  std::ranges::sort(prefixes);
  std::vector<std::string> kept;
  for (std::string& prefix : prefixes) {
    if (kept.empty() || !prefix.starts_with(kept.back())) kept.push_back(std::move(prefix));
  }
  prefixes = std::move(kept);
}

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
                                             const Canonicalizer& canonicalizer) {
  std::unique_ptr<Scope> scope(new Scope(config, canonicalizer));
  if (auto added = scope->add_rules(); !added) return tl::unexpected(std::move(added.error()));
  for (const std::filesystem::path& file : config.blocklist) {
    auto list = Blocklist::open(file, canonicalizer);
    if (!list) {
      list.error().message = "scope.blocklist: " + list.error().message;
      return tl::unexpected(std::move(list.error()));
    }
    scope->blocklists_.push_back(std::move(*list));
  }
  scope->add_seeds(seeds);
  return scope;
}

Result<void> Scope::add_rules() {
  std::vector<UrlPattern> patterns;
  const auto add = [&](bool include, const std::string& text, const std::string& name,
                       std::string_view key) -> Result<void> {
    auto pattern = UrlPattern::parse(text);
    if (!pattern) {
      return error(pattern.error().code, std::string(key) + ": " + pattern.error().message);
    }
    patterns.push_back(std::move(*pattern));
    rules_.push_back({.include = include, .name = name.empty() ? text : name, .key = key});
    return {};
  };
  for (const ScopeRuleText& rule : config_.rules) {
    if (auto ok = add(rule.include, rule.pattern, rule.name, "scope.rules"); !ok) return ok;
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

void Scope::add_seeds(const std::vector<Url>& seeds) {
  for (const Url& seed : seeds) {
    switch (config_.type) {
      case ScopeType::kPage:
        members_.insert(page_of(seed, canonicalizer_));
        break;
      case ScopeType::kPrefix: {
        // Everything in the directory of the seed: "/a/b.html" gives the prefix "/a/".
        std::string prefix = path_of(seed, spelling_);
        prefix.erase(prefix.rfind('/') + 1);
        prefixes_.push_back(std::move(prefix));
        break;
      }
      case ScopeType::kHost:
        members_.insert(politeness_group(seed));
        break;
      case ScopeType::kDomain:
        members_.emplace(registrable_domain(seed.hostname()));
        break;
      case ScopeType::kAny:
        break;
    }
  }
  remove_covered(prefixes_);
}

UrlVerdict Scope::check(const Url& url, std::uint32_t depth, std::uint32_t hops_off_scope) const {
  if (const auto reason = check_shape(url)) return fails_by(*reason);
  if (!blocklists_.empty()) {
    thread_local BlockCandidates candidates;
    candidates.set(url, canonicalizer_);
    for (const Blocklist& list : blocklists_) {
      if (list.find(candidates)) {
        return {.reason = SkipReason::kBlocked, .rule = list.name(), .key = "scope.blocklist"};
      }
    }
  }
  return check_rules(url, depth, hops_off_scope);
}

std::optional<SkipReason> Scope::check_shape(const Url& url) const {
  for (const UrlLimit& each : kUrlLimits) {
    const std::uint32_t limit = config_.*each.limit;
    if (each.measure(url, limit) > limit) return each.reason;
  }
  return std::nullopt;
}

// Checks that depend on the URL alone come first, so that an excluded URL gets the same reason
// wherever it is linked, and is not held as too deep.
UrlVerdict Scope::check_rules(const Url& url, std::uint32_t depth,
                              std::uint32_t hops_off_scope) const {
  const bool too_deep = config_.max_depth && depth > *config_.max_depth;
  if (!patterns_.empty()) {
    thread_local std::string scratch;
    if (const auto match = patterns_.first_match(spelling_.key_view(url, scratch))) {
      const Rule& rule = rules_[*match];
      if (!rule.include)
        return {.reason = SkipReason::kExcluded, .rule = rule.name, .key = rule.key};
      if (too_deep) return fails_by(SkipReason::kTooDeep);
      return {.reason = std::nullopt, .rule = rule.name, .key = rule.key};
    }
  }
  if (too_deep) return fails_by(SkipReason::kTooDeep);
  if (covers(url)) return passes_by("scope.type");
  if (hops_off_scope < config_.extra_hops) {
    UrlVerdict verdict = passes_by("scope.extra_hops");
    verdict.off_scope = true;
    return verdict;
  }
  return fails_by(SkipReason::kOutOfScope);
}

bool Scope::covers(const Url& url) const {
  std::string scratch;
  switch (config_.type) {
    case ScopeType::kAny:
      return true;
    case ScopeType::kHost:
      return members_.contains(group_view(url, scratch));
    case ScopeType::kDomain:
      return members_.contains(registrable_domain(url.hostname()));
    case ScopeType::kPage:
      return members_.contains(page_of(url, canonicalizer_));
    case ScopeType::kPrefix: {
      const std::string target = path_of(url, spelling_);
      const auto behind = std::ranges::upper_bound(prefixes_, target);
      return behind != prefixes_.begin() && target.starts_with(*std::prev(behind));
    }
  }
  return false;
}

}  // namespace trawl
