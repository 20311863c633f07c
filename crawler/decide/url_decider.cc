#include "crawler/decide/url_decider.h"

#include <utility>

#include "trawl/url_groups.h"

#include "base/mix.h"
#include "crawler/config/user_agent.h"

namespace trawl {

namespace {

// No page needs more style sheets that import each other, or frames within frames.
constexpr std::uint32_t kMostRequisiteHops = 100;

UrlVerdict skipped_for(SkipReason reason) {
  return {.reason = reason, .key = config_key_of(reason)};
}

UrlVerdict fetched_by(std::string_view key) {
  return {.reason = std::nullopt, .key = key};
}

}  // namespace

// The page on which a URL was found has one hop out of scope less than the URL.
UrlOrigin UrlOrigin::of(std::uint32_t depth, std::uint32_t redirects, const UrlNote& note) {
  FoundKinds found = note.found;
  if (note.requisite_hops > 0) found.add(FoundAs::kRequisite);
  const bool is_sitemap = note.role == UrlNote::Role::kSitemap;
  if (is_sitemap) found = {FoundAs::kSitemap};
  if (redirects > 0) {
    found.add(FoundAs::kRedirect);
  } else if (depth == 0 && !is_sitemap && found == UrlNote().found) {
    found = {FoundAs::kSeed};
  }
  return {.depth = depth,
          .hops_off_scope = note.hops_off_scope > 0 ? note.hops_off_scope - 1 : 0,
          .redirects = redirects,
          .found = found,
          .seed = note.seed,
          .requisite_hops = note.requisite_hops,
          .sitemap = is_sitemap,
          .own_site = true,
          .vouched = note.vouched};
}

Result<UrlDecider> UrlDecider::create(const CrawlConfig& config, const std::vector<Url>& seeds,
                                      const Canonicalizer& canonicalizer,
                                      std::shared_ptr<const SeedRedirects> redirects) {
  auto settings = std::make_shared<const SeedSettings>(config, canonicalizer);
  if (redirects == nullptr) {
    auto stored = SeedRedirects::read(config.crawl.state_dir, settings, canonicalizer);
    if (!stored) return tl::unexpected(std::move(stored.error()));
    redirects = *std::move(stored);
  }
  std::vector<Url> all = seeds;
  for (const std::string& sitemap : config.crawl.sitemaps) {
    if (auto url = Url::parse(sitemap)) all.push_back(*std::move(url));
  }
  auto scope = Scope::create(config.scope, all, canonicalizer, std::move(redirects), settings);
  if (!scope) return tl::unexpected(std::move(scope.error()));
  return UrlDecider(config, std::move(settings), std::move(*scope), all);
}

UrlDecider::UrlDecider(const CrawlConfig& config, std::shared_ptr<const SeedSettings> settings,
                       std::unique_ptr<Scope> scope, const std::vector<Url>& seeds)
    : respect_nofollow_(config.links.respect_nofollow),
      hosts_(config.politeness),
      max_redirects_(config.fetch.max_redirects),
      robots_agent_(robots_token_of(config.crawl)),
      seeds_(std::move(settings)),
      scope_(std::move(scope)) {
  for (const Url& seed : seeds) {
    for (std::string& host : seed_hosts(seed))
      seed_hosts_.insert(std::move(host));
  }
  for (const SkipReasonRow& row : kSkipReasonRows) {
    if (row.setting == nullptr) continue;
    held_by_[static_cast<std::size_t>(row.reason)] = mix64(row.setting(config) + 1) | 1;  // never 0
  }
}

UrlVerdict UrlDecider::decide(const Url& url, const UrlOrigin& origin) const {
  if (origin.nofollow && respect_nofollow_ && origin.requisite_hops == 0)
    return skipped_for(SkipReason::kNofollow);
  if (origin.redirects > max_redirects_) return skipped_for(SkipReason::kTooManyRedirects);
  if (origin.requisite_hops > 0) {
    if (origin.requisite_hops > kMostRequisiteHops) return skipped_for(SkipReason::kTooDeep);
    return scope_->check_requisite(url, origin.found);
  }
  UrlVerdict verdict =
      scope_->check(url, origin.depth, origin.hops_off_scope, origin.found, origin.seed);
  if (verdict.reason == SkipReason::kOutOfScope && is_wanted_sitemap(url, origin))
    return fetched_by("links.sitemaps");
  if (verdict.reason == SkipReason::kOutOfScope && origin.is_listed_seed())
    return fetched_by("crawl.sitemaps");
  return verdict;
}

UrlVerdict UrlDecider::decide(const Url& url, const UrlOrigin& origin, CrawlFacts& facts) const {
  UrlVerdict verdict = decide(url, origin);
  if (!verdict.is_fetched()) return verdict;
  const PatternState pattern = facts.pattern(url);
  if (pattern == PatternState::kParked) return skipped_for(SkipReason::kPatternParked);
  if (!facts.host_has_room(url)) return skipped_for(SkipReason::kTooManyUrlsOfHost);
  if (!facts.robots_allow(url)) return skipped_for(SkipReason::kRobots);
  verdict.slow = pattern == PatternState::kSlow;
  return verdict;
}

UrlVerdict UrlDecider::decide(const Url& url, const Robots& robots) const {
  if (hosts_.respects_robots(politeness_group(url)) && !robots.allowed(robots_agent_, url))
    return skipped_for(SkipReason::kRobots);
  return fetched_by("");
}

UrlVerdict UrlDecider::decide(const Error& parse_error) {
  return skipped_for(parse_error.code == ErrorCode::kUnsupportedScheme ? SkipReason::kOtherScheme
                                                                       : SkipReason::kInvalidUrl);
}

bool UrlDecider::is_wanted_sitemap(const Url& url, const UrlOrigin& origin) const {
  if (!origin.sitemap) return false;
  return origin.vouched || (origin.own_site && is_seed_host(politeness_group(url)));
}

}  // namespace trawl
