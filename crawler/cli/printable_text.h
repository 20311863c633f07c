// printable: makes text from servers and files safe to show on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace trawl::cli {

// Returns `text` as one line of valid UTF-8: white space becomes a space; invalid UTF-8 and all
// other unsafe characters (safe_text.h) become U+FFFD.
std::string printable(std::string_view text);

}  // namespace trawl::cli
