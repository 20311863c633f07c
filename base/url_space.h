// trim_url_space: a URL as people and programs paste it, without the space around it.
#pragma once

#include <string_view>

namespace trawl {

// `text`, which is UTF-8, without what looks like nothing at its ends: controls and spaces of
// ASCII, Unicode's White_Space (U+00A0 among them), U+200B and U+FEFF.
std::string_view trim_url_space(std::string_view text) noexcept;

}  // namespace trawl
