// What a <meta http-equiv=refresh> asks for.
#pragma once

#include <optional>
#include <string_view>

#include "crawler/parse/html/page_references.h"

namespace trawl {

// Reads the content attribute (decoded), of which the URL is a view, by the HTML Standard's shared
// declarative refresh steps
// (https://html.spec.whatwg.org/multipage/semantics.html#shared-declarative-refresh-steps). Nothing
// if it asks for none. Delays are whole seconds, of a year at most.
std::optional<PageReferences::Refresh> parse_meta_refresh(std::string_view content) noexcept;

}  // namespace trawl
