// Declarative shadow roots: <template shadowrootmode="open">, whose contents are part of the
// document (https://html.spec.whatwg.org/multipage/scripting.html#attr-template-shadowrootmode).
#pragma once

#include <string_view>

#include "base/ascii.h"

namespace trawl {

inline constexpr std::string_view kShadowRootMode = "shadowrootmode";

constexpr bool is_shadow_root_mode(std::string_view value) noexcept {
  return equal_in_any_case(value, "open") || equal_in_any_case(value, "closed");
}

}  // namespace trawl
