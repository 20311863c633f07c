// Parses <meta http-equiv=refresh>.
#pragma once

#include <optional>
#include <string_view>

#include "crawler/parse/html/page_references.h"

namespace trawl {

// Parses the decoded content attribute by the HTML Standard's shared declarative refresh steps
// (https://html.spec.whatwg.org/multipage/semantics.html#shared-declarative-refresh-steps). Returns
// nothing if it is invalid. The URL is a view of `content`. Delays are whole seconds, at most a
// year.
std::optional<PageReferences::Refresh> parse_meta_refresh(std::string_view content) noexcept;

}  // namespace trawl
