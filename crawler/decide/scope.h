// Scope: decides which links a crawl follows, by [scope].
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trawl/canonicalizer.h"
#include "trawl/result.h"
#include "trawl/url.h"

#include "crawler/config/crawl_config.h"
#include "crawler/decide/blocklist.h"
#include "crawler/decide/seed_members.h"
#include "crawler/decide/seed_redirects.h"
#include "crawler/decide/seed_settings.h"
#include "crawler/decide/url_verdict.h"
#include "crawler/patterns/url_pattern_set.h"

namespace trawl {

// A limit on single URLs. A new one is a row of kUrlLimits in scope.cc, which the scope checks
// from the top and `trawl explain` prints.
struct UrlLimit {
  SkipReason reason;
  std::string_view name;  // for `trawl explain`
  std::uint32_t CrawlConfig::Scope::*limit;
  // What the URL has, to be compared with `limit`; if that is exceeded, any larger number.
  std::uint64_t (*measure)(const Url& url, std::uint32_t limit);
};
std::span<const UrlLimit> url_limits();

// Thread-safe; only the redirects of seeds may change it.
class Scope {
 public:
  // Reads the blocklists. `canonicalizer` makes the keys to search them for. Errors:
  // kInvalidArgument for an invalid pattern, and those of Blocklist::open(). `redirects` may grow.
  static Result<std::unique_ptr<Scope>> create(
      const CrawlConfig::Scope& config, const std::vector<Url>& seeds,
      const Canonicalizer& canonicalizer = Canonicalizer(),
      std::shared_ptr<const SeedRedirects> redirects = nullptr,
      std::shared_ptr<const SeedSettings> settings = nullptr);

  // `depth`: of the link; `hops_off_scope`: of the page with the link: 0 if the page is in scope,
  // else the number of pages in a row, including it, that are out of scope. A link accepted with
  // `off_scope` is one hop further than its page; other accepted links have 0 hops. `found`: for
  // the rules that have kinds. `seed`: from which the link was found, if it has settings.
  UrlVerdict check(const Url& url, std::uint32_t depth, std::uint32_t hops_off_scope = 0,
                   FoundKinds found = {FoundAs::kNavigation}, SeedSettings::Id seed = 0) const;

  // The same for a page requisite, for which only rules, blocklists and limits on URLs count.
  UrlVerdict check_requisite(const Url& url, FoundKinds found) const;

  // Whether a rule asks how a URL was found.
  bool has_rules_by_kind() const { return has_rules_by_kind_; }

  const std::vector<Blocklist>& blocklists() const { return blocklists_; }

 private:
  struct Rule {
    bool include;
    std::string name;
    std::string_view key;
    FoundKinds kinds;  // none: all
  };
  Scope(const CrawlConfig::Scope& config, const Canonicalizer& canonicalizer,
        std::shared_ptr<const SeedRedirects> redirects,
        std::shared_ptr<const SeedSettings> settings)
      : config_(config),
        canonicalizer_(canonicalizer),
        seeds_(config.type, canonicalizer),
        redirects_(std::move(redirects)),
        settings_(std::move(settings)) {}

  Result<void> add_rules();
  // The limit on URLs that the URL exceeds, if any.
  std::optional<SkipReason> check_shape(const Url& url) const;
  // The verdict on URLs that no scope includes.
  std::optional<UrlVerdict> refuse(const Url& url) const;
  bool is_too_deep(std::uint32_t depth, const SeedSettings::Own* own) const;
  const Rule* find_rule(const Url& url, FoundKinds found) const;
  UrlVerdict check_rules(const Url& url, std::uint32_t depth, std::uint32_t hops_off_scope,
                         FoundKinds found, SeedSettings::Id seed) const;
  UrlVerdict check_seeds(const Url& url, std::uint32_t depth, const SeedSettings::Own* own) const;

  const CrawlConfig::Scope config_;
  const Canonicalizer canonicalizer_;
  const Canonicalizer spelling_;  // normalises URLs for patterns
  std::vector<Blocklist> blocklists_;
  UrlPatternSet patterns_;
  std::vector<Rule> rules_;  // one per pattern
  bool has_rules_by_kind_ = false;
  SeedMembers seeds_;
  const std::shared_ptr<const SeedRedirects> redirects_;  // null: none
  const std::shared_ptr<const SeedSettings> settings_;    // null: none
};

}  // namespace trawl
