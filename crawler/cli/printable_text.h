// printable: what others wrote, made safe to show on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace trawl::cli {

// `text` on one line of valid UTF-8: white space becomes a space, what is no UTF-8 and everything
// else that is unsafe (safe_text.h) U+FFFD.
std::string printable(std::string_view text);

}  // namespace trawl::cli
