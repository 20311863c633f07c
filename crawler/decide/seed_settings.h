// SeedSettings: what [[seed]] sets for single seeds and for the URLs that are found from them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trawl/canonicalizer.h"
#include "trawl/url.h"

#include "crawler/config/crawl_config.h"
#include "crawler/decide/seed_members.h"

namespace trawl {

// Immutable, thread-safe.
class SeedSettings {
 public:
  // Names a seed in the notes of the URLs found from it, also in later runs; 0: one without
  // settings.
  using Id = std::uint64_t;

  struct Own {
    std::optional<std::uint32_t> depth;  // absent: scope.max_depth
    std::optional<ScopeType> scope;      // absent: scope.type
    std::optional<std::int32_t> priority;
    std::string note;
    SeedMembers members;  // what belongs to this seed
  };
  enum class Place {
    kOutside,
    kTooDeep,  // belongs to a seed, but is too deep for it
    kInside,
  };

  SeedSettings() = default;
  // Seeds that are not URLs are ignored.
  SeedSettings(const CrawlConfig& config, const Canonicalizer& canonicalizer);

  bool empty() const { return seeds_.empty(); }
  Id id_of(const Url& seed) const;
  // Null if the seed has no settings, perhaps no longer.
  const Own* find(Id id) const;
  // The scope.type and the depth of a seed; no depth: no limit.
  ScopeType type_of(const Url& seed) const;
  std::optional<std::uint32_t> depth_of(const Url& seed) const;
  // Whether scope.type and scope.max_depth are not for this seed.
  bool has_own_scope(const Url& seed) const;
  // Where a URL is that was found from another seed. Seeds with scope "any" do not count.
  Place place_of(const Url& url, std::uint32_t depth) const;

 private:
  // Seeds with the same limits.
  struct Group {
    ScopeType type;
    std::optional<std::uint32_t> depth;
    SeedMembers members;
  };

  ScopeType type_ = ScopeType::kHost;
  std::optional<std::uint32_t> max_depth_;
  std::unordered_map<Id, Own> seeds_;
  std::vector<Group> groups_;
};

}  // namespace trawl
