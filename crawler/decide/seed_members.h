// SeedMembers: what belongs to the seeds of a crawl, by scope.type.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "trawl/canonicalizer.h"
#include "trawl/url.h"

#include "crawler/config/crawl_config.h"

namespace trawl {

// The names of the queues of a seed's host, which count as one host: with and without "www.", if
// what follows "www." is a name that can be registered. Both schemes have the same name.
std::vector<std::string> seed_hosts(const Url& seed);

// Not thread-safe while seeds are added.
class SeedMembers {
 public:
  // `canonicalizer` makes the keys of pages.
  SeedMembers(ScopeType type, const Canonicalizer& canonicalizer)
      : type_(type), canonicalizer_(canonicalizer) {}

  void clear() {
    members_.clear();
    prefixes_.clear();
  }
  void add(const std::vector<Url>& seeds);
  // Whether no seed was added, or seeds cover everything anyway.
  bool empty() const { return members_.empty() && prefixes_.empty(); }
  // Whether the URL belongs to a seed.
  bool covers(const Url& url) const;

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  using TextSet = std::unordered_set<std::string, TextHash, std::equal_to<>>;

  ScopeType type_;
  Canonicalizer canonicalizer_;
  Canonicalizer spelling_;             // normalises URLs for prefixes
  TextSet members_;                    // kPage: pages, kHost: politeness groups, kDomain: domains
  std::vector<std::string> prefixes_;  // kPrefix: sorted, none a prefix of another
};

}  // namespace trawl
