#include "crawler/scope.h"

#include <algorithm>

#include "trawl/canonicalizer.h"

#include "frontier/registrable_domain.h"

namespace trawl {

namespace {

// Host and path as the canonical key spells them; prefixes hold for http and https alike, as sites
// answer on both.
std::string without_scheme(const Url& url) {
  const std::string key = Canonicalizer().key(url);
  const auto path = key.find('/', key.find("://") + 3);
  return politeness_group(url) + key.substr(path, key.find('?') - path);
}

}  // namespace

std::string_view to_string(SkipReason reason) {
  switch (reason) {
    case SkipReason::kInvalidUrl:
      return "invalid URL";
    case SkipReason::kOtherScheme:
      return "other scheme";
    case SkipReason::kOutOfScope:
      return "out of scope";
    case SkipReason::kTooDeep:
      return "too deep";
    case SkipReason::kTooLong:
      return "URL too long";
    case SkipReason::kTooManyRedirects:
      return "too many redirects";
    case SkipReason::kRobots:
      return "robots.txt";
    case SkipReason::kReasons:
      break;
  }
  return "none";
}

Scope::Scope(const CrawlConfig::Scope& config, const std::vector<Url>& seeds) : config_(config) {
  for (const Url& seed : seeds) {
    hosts_.insert(config.type == ScopeType::kDomain
                      ? std::string(registrable_domain(seed.hostname()))
                      : politeness_group(seed));
    // Everything in the directory of the seed: "/a/b.html" gives the prefix "/a/".
    std::string prefix = without_scheme(seed);
    prefix.erase(prefix.rfind('/') + 1);
    prefixes_.push_back(std::move(prefix));
  }
}

SkipReason Scope::check(const Url& url, std::uint32_t depth) const {
  if (config_.max_depth && depth > *config_.max_depth) return SkipReason::kTooDeep;
  if (url.href_without_fragment().size() > config_.max_url_length) return SkipReason::kTooLong;
  return covers(url) ? SkipReason::kReasons : SkipReason::kOutOfScope;
}

bool Scope::covers(const Url& url) const {
  switch (config_.type) {
    case ScopeType::kAny:
      return true;
    case ScopeType::kHost:
      return hosts_.contains(politeness_group(url));
    case ScopeType::kDomain:
      return hosts_.contains(registrable_domain(url.hostname()));
    case ScopeType::kPrefix: {
      const std::string target = without_scheme(url);
      return std::ranges::any_of(prefixes_,
                                 [&](const auto& prefix) { return target.starts_with(prefix); });
    }
  }
  return false;
}

}  // namespace trawl
