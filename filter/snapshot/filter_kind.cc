#include <array>
#include <utility>

#include "trawl/filter.h"

namespace trawl {

namespace {

constexpr std::array<std::pair<FilterKind, std::string_view>, 5> kNames{{
    {FilterKind::kBlocked, "blocked"},
    {FilterKind::kGrowing, "growing"},
    {FilterKind::kClassic, "classic"},
    {FilterKind::kCounting, "counting"},
    {FilterKind::kCuckoo, "cuckoo"},
}};

}  // namespace

std::string_view name_of(FilterKind kind) noexcept {
  for (const auto& [named, name] : kNames) {
    if (named == kind) return name;
  }
  return "unknown";
}

std::optional<FilterKind> filter_kind_named(std::string_view wanted) noexcept {
  for (const auto& [kind, name] : kNames) {
    if (name == wanted) return kind;
  }
  return std::nullopt;
}

}  // namespace trawl
