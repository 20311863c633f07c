// FoundAs: how a crawl found a URL, in the words of scope.rules.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "trawl/links.h"

namespace trawl {

// The first ones are kinds of links, with the same numbers. Stored in notes: never change a number.
enum class FoundAs : std::uint8_t {
  kNavigation,
  kForm,
  kDocument,
  kResource,
  kRelated,
  kCitation,
  kRefresh,
  kGuess,
  kSeed,
  kRedirect,   // of a URL that was found in another way, which counts too
  kSitemap,    // a sitemap, or listed in one
  kRequisite,  // needed to show a page, and out of scope otherwise
};
inline constexpr std::array<std::string_view, 12> kFoundAsNames = {
    "navigation", "form",  "document", "resource", "related", "citation",
    "refresh",    "guess", "seed",     "redirect", "sitemap", "requisite"};

constexpr FoundAs found_as(LinkKind kind) {
  return static_cast<FoundAs>(kind);
}
static_assert(kFoundAsNames[static_cast<std::size_t>(FoundAs::kGuess)] ==
              to_string(LinkKind::kGuess));

constexpr std::string_view to_string(FoundAs found) {
  return kFoundAsNames[static_cast<std::size_t>(found)];
}
constexpr std::optional<FoundAs> find_found_as(std::string_view name) {
  for (std::size_t i = 0; i < kFoundAsNames.size(); ++i) {
    if (kFoundAsNames[i] == name) return static_cast<FoundAs>(i);
  }
  return std::nullopt;
}

// A set of ways.
class FoundKinds {
 public:
  constexpr FoundKinds() = default;  // none
  constexpr FoundKinds(std::initializer_list<FoundAs> kinds) {
    for (const FoundAs kind : kinds)
      add(kind);
  }
  static constexpr FoundKinds from_bits(std::uint32_t bits) {
    FoundKinds kinds;
    kinds.bits_ = bits & kAllBits;
    return kinds;
  }

  constexpr void add(FoundAs kind) { bits_ |= 1u << static_cast<unsigned>(kind); }
  constexpr void remove(FoundAs kind) { bits_ &= ~(1u << static_cast<unsigned>(kind)); }
  constexpr bool has(FoundAs kind) const {
    return (bits_ & 1u << static_cast<unsigned>(kind)) != 0;
  }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool intersects(FoundKinds other) const { return (bits_ & other.bits_) != 0; }
  constexpr std::uint32_t bits() const { return bits_; }
  friend bool operator==(const FoundKinds&, const FoundKinds&) = default;

 private:
  static constexpr std::uint32_t kAllBits = (1u << kFoundAsNames.size()) - 1;
  std::uint32_t bits_ = 0;
};

}  // namespace trawl
