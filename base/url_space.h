// trim_url_space: removes the space around a URL that a person or program pasted.
#pragma once

#include <string_view>

namespace trawl {

// `text`, which must be UTF-8, without invisible characters at its ends: ASCII controls and spaces,
// Unicode's White_Space (including U+00A0), U+200B and U+FEFF.
std::string_view trim_url_space(std::string_view text) noexcept;

}  // namespace trawl
