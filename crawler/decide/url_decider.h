// UrlDecider: the only place that decides whether a URL is fetched.
//
// It gives the verdict on links when they are found, on URLs when they are leased, on held URLs
// when a run begins, and for `trawl explain`. These differ in what they know about the URL: see
// CrawlFacts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/canonicalizer.h"
#include "trawl/result.h"
#include "trawl/robots.h"
#include "trawl/url.h"

#include "crawler/config/crawl_config.h"
#include "crawler/config/host_politeness.h"
#include "crawler/decide/scope.h"
#include "crawler/decide/seed_settings.h"
#include "crawler/decide/trap_detector.h"
#include "crawler/decide/url_note.h"
#include "crawler/decide/url_verdict.h"

namespace trawl {

// How a URL was found.
struct UrlOrigin {
  std::uint32_t depth = 0;           // links from a seed
  std::uint32_t hops_off_scope = 0;  // of the page it was found on: see Scope::check()
  std::uint32_t redirects = 0;       // redirects in a row that led to it
  FoundKinds found = {FoundAs::kNavigation};
  SeedSettings::Id seed = 0;
  // Of a page requisite that is not in scope otherwise: how many in a row led to it; else 0.
  std::uint32_t requisite_hops = 0;
  bool nofollow = false;  // page, headers or link say nofollow
  bool sitemap = false;
  // For sitemaps: a sitemap on a seed's host need not be in scope; a sitemap named in the
  // robots.txt of a crawled site may be anywhere.
  bool own_site = false;
  bool vouched = false;

  // Whether it is a page that one of crawl.sitemaps lists, or redirects to.
  bool is_listed_seed() const { return found.has(FoundAs::kSitemap) && found.has(FoundAs::kSeed); }

  // The origin of a URL that was admitted or held, from the note stored with it.
  static UrlOrigin of(std::uint32_t depth, std::uint32_t redirects, const UrlNote& note);
};

// What a crawl knows about a URL. Each function is called at most once per verdict, and only if the
// earlier checks pass.
class CrawlFacts {
 public:
  virtual ~CrawlFacts() = default;
  virtual PatternState pattern(const Url&) { return PatternState::kOk; }
  // Whether scope.max_urls_per_host leaves room for the URL.
  virtual bool host_has_room(const Url&) { return true; }
  // Whether robots.txt allows the URL, if known.
  virtual bool robots_allow(const Url&) { return true; }
};

// Immutable, thread-safe.
class UrlDecider {
 public:
  // `redirects`: those of a running crawl; null: those that the state directory of the config has.
  // Errors: those of Scope::create() and SeedRedirects::read().
  static Result<UrlDecider> create(const CrawlConfig& config, const std::vector<Url>& seeds,
                                   const Canonicalizer& canonicalizer,
                                   std::shared_ptr<const SeedRedirects> redirects = nullptr);

  // Checks in this order: nofollow, redirects, the scope with its limits and blocklists, the URL's
  // pattern, its host's limit, robots.txt.
  UrlVerdict decide(const Url& url, const UrlOrigin& origin, CrawlFacts& facts) const;
  // The same, by the config alone.
  UrlVerdict decide(const Url& url, const UrlOrigin& origin) const;
  // By robots.txt alone, for a URL that passed the other checks.
  UrlVerdict decide(const Url& url, const Robots& robots) const;
  // The verdict on a text that Url::parse() refused with this error.
  static UrlVerdict decide(const Error& parse_error);

  // Whether a host (politeness_group()) has a seed; with and without "www." are one host.
  bool is_seed_host(std::string_view host) const { return seed_hosts_.contains(host); }
  const Scope& scope() const { return *scope_; }
  const SeedSettings& seeds() const { return *seeds_; }
  const std::shared_ptr<const SeedSettings>& shared_seeds() const { return seeds_; }

  // HoldReason::rules: a digest of the reason's SkipReasonRow::setting; 0 where there is none.
  std::uint64_t held_by(SkipReason reason) const {
    return held_by_[static_cast<std::size_t>(reason)];
  }

 private:
  UrlDecider(const CrawlConfig& config, std::shared_ptr<const SeedSettings> settings,
             std::unique_ptr<Scope> scope, const std::vector<Url>& seeds);

  bool is_wanted_sitemap(const Url& url, const UrlOrigin& origin) const;

  bool respect_nofollow_;
  HostPoliteness hosts_;
  std::uint32_t max_redirects_;
  std::array<std::uint64_t, kSkipReasons> held_by_{};
  std::string robots_agent_;
  std::shared_ptr<const SeedSettings> seeds_;
  std::unique_ptr<Scope> scope_;
  std::set<std::string, std::less<>> seed_hosts_;
};

}  // namespace trawl
