#include "crawler/decide/seed_settings.h"

#include <algorithm>
#include <utility>

#include <xxhash.h>

namespace trawl {

namespace {

// Seven bytes as a varint; two of a million seeds share one with a probability of 0.2 %.
constexpr SeedSettings::Id kIdBits = (SeedSettings::Id{1} << 48) - 1;

SeedSettings::Id hash_of(const Url& seed) {
  const std::string_view href = seed.href_without_fragment();
  return std::max<SeedSettings::Id>(XXH3_64bits(href.data(), href.size()) & kIdBits, 1);
}

}  // namespace

SeedSettings::SeedSettings(const CrawlConfig& config, const Canonicalizer& canonicalizer)
    : type_(config.scope.type), max_depth_(config.scope.max_depth) {
  std::vector<std::vector<Url>> members;  // of each group
  for (const SeedText& text : config.crawl.seed_settings) {
    const auto url = Url::parse(text.url);
    if (!url) continue;
    const ScopeType type = text.scope.value_or(type_);
    SeedMembers alone(type, canonicalizer);
    alone.add({*url});
    seeds_.insert_or_assign(
        hash_of(*url), Own{text.depth, text.scope, text.priority, text.note, std::move(alone)});
    if ((!text.scope && !text.depth) || type == ScopeType::kAny) continue;
    const auto depth = text.depth ? text.depth : config.scope.max_depth;
    auto group = std::ranges::find_if(
        groups_, [&](const Group& each) { return each.type == type && each.depth == depth; });
    if (group == groups_.end()) {
      groups_.push_back({type, depth, SeedMembers(type, canonicalizer)});
      members.emplace_back();
      group = std::prev(groups_.end());
    }
    members[static_cast<std::size_t>(group - groups_.begin())].push_back(*url);
  }
  for (std::size_t i = 0; i < groups_.size(); ++i)
    groups_[i].members.add(members[i]);
}

SeedSettings::Id SeedSettings::id_of(const Url& seed) const {
  if (seeds_.empty()) return 0;
  const Id id = hash_of(seed);
  return seeds_.contains(id) ? id : 0;
}

const SeedSettings::Own* SeedSettings::find(Id id) const {
  if (id == 0) return nullptr;
  const auto found = seeds_.find(id);
  return found == seeds_.end() ? nullptr : &found->second;
}

ScopeType SeedSettings::type_of(const Url& seed) const {
  const Own* own = find(id_of(seed));
  return own == nullptr ? type_ : own->scope.value_or(type_);
}

std::optional<std::uint32_t> SeedSettings::depth_of(const Url& seed) const {
  const Own* own = find(id_of(seed));
  return own != nullptr && own->depth ? own->depth : max_depth_;
}

bool SeedSettings::has_own_scope(const Url& seed) const {
  const Own* own = find(id_of(seed));
  return own != nullptr && (own->scope || own->depth);
}

SeedSettings::Place SeedSettings::place_of(const Url& url, std::uint32_t depth) const {
  Place place = Place::kOutside;
  for (const Group& group : groups_) {
    if (!group.members.covers(url)) continue;
    if (!group.depth || depth <= *group.depth) return Place::kInside;
    place = Place::kTooDeep;
  }
  return place;
}

}  // namespace trawl
