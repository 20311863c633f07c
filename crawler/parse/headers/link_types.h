// LinkTypes: the link types in the rel of <link>, <a> and the Link header.
#pragma once

#include <optional>
#include <string_view>

#include "trawl/links.h"

#include "base/ascii.h"

namespace trawl {

struct LinkTypes {
  explicit constexpr LinkTypes(std::string_view rel) noexcept {
    bool any = false;
    bool hints_only = true;
    for (auto token = next_token(rel); !token.empty(); token = next_token(rel)) {
      const auto is = [&](std::string_view name) { return equal_in_any_case(token, name); };
      any = true;
      if (!is("dns-prefetch") && !is("preconnect")) hints_only = false;
      if (is("alternate")) alternate = true;
      if (is("stylesheet")) stylesheet = true;
      if (is("canonical")) canonical = true;
      if (is("next") || is("prev") || is("previous") || is("amphtml")) neighbour = true;
    }
    names_no_document = any && hints_only;
  }

  // The kind of a <link> or header link with this rel; nothing if it does not name a document.
  constexpr std::optional<LinkKind> kind() const noexcept {
    if (names_no_document) return std::nullopt;
    const bool related = canonical || neighbour || (alternate && !stylesheet);
    return related ? LinkKind::kRelated : LinkKind::kResource;
  }

  bool alternate = false;
  bool stylesheet = false;
  bool canonical = false;
  bool neighbour = false;          // next or previous page of a series, or the AMP version
  bool names_no_document = false;  // at most a host to connect to
};

constexpr bool says_nofollow(std::string_view rel) noexcept {
  for (auto token = next_token(rel); !token.empty(); token = next_token(rel))
    if (equal_in_any_case(token, "nofollow")) return true;
  return false;
}

}  // namespace trawl
