#include "crawler/decide/seed_members.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "trawl/url_groups.h"

namespace trawl {

namespace {

constexpr std::string_view kWww = "www.";

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
  std::string path(behind_authority(spelling.key(url)));
  path.erase(std::min(path.find('?'), path.size()));
  return path;
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

}  // namespace

std::vector<std::string> seed_hosts(const Url& seed) {
  const std::string host = politeness_group(seed);
  const std::string_view name = group_host(seed);
  if (name.starts_with(kWww)) {
    if (!has_registrable_domain(name.substr(kWww.size()))) return {host};
    return {host, host.substr(kWww.size())};
  }
  if (!has_registrable_domain(name)) return {host};
  return {host, std::string(kWww) + host};
}

void SeedMembers::add(const std::vector<Url>& seeds) {
  for (const Url& seed : seeds) {
    switch (type_) {
      case ScopeType::kPage:
        members_.insert(page_of(seed, canonicalizer_));
        break;
      case ScopeType::kPrefix: {
        // Everything in the directory of the seed: "/a/b.html" gives the prefix "/a/".
        std::string folder = path_of(seed, spelling_);
        folder.erase(folder.rfind('/') + 1);
        for (const std::string& host : seed_hosts(seed))
          prefixes_.push_back(host + folder);
        break;
      }
      case ScopeType::kHost:
        for (std::string& host : seed_hosts(seed))
          members_.insert(std::move(host));
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

bool SeedMembers::covers(const Url& url) const {
  std::string scratch;
  switch (type_) {
    case ScopeType::kAny:
      return true;
    case ScopeType::kHost:
      return members_.contains(group_view(url, scratch));
    case ScopeType::kDomain:
      return members_.contains(registrable_domain(url.hostname()));
    case ScopeType::kPage:
      return members_.contains(page_of(url, canonicalizer_));
    case ScopeType::kPrefix: {
      const std::string target = politeness_group(url) + path_of(url, spelling_);
      const auto behind = std::ranges::upper_bound(prefixes_, target);
      return behind != prefixes_.begin() && target.starts_with(*std::prev(behind));
    }
  }
  return false;
}

}  // namespace trawl
