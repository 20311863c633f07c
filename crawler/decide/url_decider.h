// UrlDecider: the one place where it is decided whether a URL is fetched.
//
// A link when it is found, a URL when its turn comes, a held URL when a run begins, and
// `trawl explain` all get their verdict here. They differ in what they know of the URL: see
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

#include "crawler/config/config.h"
#include "crawler/decide/scope.h"
#include "crawler/decide/traps.h"
#include "crawler/decide/url_note.h"
#include "crawler/decide/url_verdict.h"

namespace trawl {

// How a URL was found.
struct UrlOrigin {
  std::uint32_t depth = 0;           // links from a seed
  std::uint32_t hops_off_scope = 0;  // of the page it was found on: see Scope::check()
  std::uint32_t redirects = 0;       // in a row that led to it
  bool nofollow = false;             // the page, its headers or the link ask not to follow it
  bool sitemap = false;
  // Of a sitemap. A site's own one, which may lie where its pages are out of scope; one that a
  // crawled site names in its robots.txt, which may lie anywhere.
  bool own_site = false;
  bool vouched = false;

  // Of a URL that was admitted or held, with the note that was kept with it.
  static UrlOrigin of(std::uint32_t depth, std::uint32_t redirects, const UrlNote& note);
};

// What a crawl has learned of a URL so far. Each call is made at most once for a verdict, and only
// if what comes before it lets the URL pass.
class CrawlFacts {
 public:
  virtual ~CrawlFacts() = default;
  virtual PatternState pattern(const Url&) { return PatternState::kOk; }
  // Whether scope.max_urls_per_host leaves room for it.
  virtual bool host_has_room(const Url&) { return true; }
  // Whether robots.txt allows it, as far as that is known.
  virtual bool robots_allow(const Url&) { return true; }
};

// Immutable, thread-safe.
class UrlDecider {
 public:
  // Errors: those of Scope::create().
  static Result<UrlDecider> create(const CrawlConfig& config, const std::vector<Url>& seeds,
                                   const Canonicalizer& canonicalizer);

  // In this order: nofollow, redirects, the scope with its limits and blocklists, the URL's
  // pattern, its host's limit, robots.txt.
  UrlVerdict decide(const Url& url, const UrlOrigin& origin, CrawlFacts& facts) const;
  // The same by the config alone.
  UrlVerdict decide(const Url& url, const UrlOrigin& origin) const;
  // By robots.txt alone, of a URL that everything else lets pass.
  UrlVerdict decide(const Url& url, const Robots& robots) const;
  // Of a text that Url::parse() refused with that error.
  static UrlVerdict decide(const Error& parse_error);

  // Whether a host (politeness_group()) has a seed.
  bool is_seed_host(std::string_view host) const { return seed_hosts_.contains(host); }
  const Scope& scope() const { return *scope_; }

  // HoldReason::rules: a digest of the reason's SkipReasonRow::setting; 0 where there is none.
  std::uint64_t held_by(SkipReason reason) const {
    return held_by_[static_cast<std::size_t>(reason)];
  }

 private:
  UrlDecider(const CrawlConfig& config, std::unique_ptr<Scope> scope,
             const std::vector<Url>& seeds);

  bool is_wanted_sitemap(const Url& url, const UrlOrigin& origin) const;

  bool respect_nofollow_;
  bool respect_robots_;
  std::uint32_t max_redirects_;
  std::array<std::uint64_t, kSkipReasons> held_by_{};
  std::string robots_agent_;
  std::unique_ptr<Scope> scope_;
  std::set<std::string, std::less<>> seed_hosts_;
};

}  // namespace trawl
