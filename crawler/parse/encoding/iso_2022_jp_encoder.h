// Encodes queries in ISO-2022-JP, a stateful encoding with escape sequences.
#pragma once

#include <string>
#include <string_view>

namespace trawl {

// As append_encoded_query(). Drops tabs and line ends, which the URL parser would drop, so that
// they cause no escape sequences.
void append_iso_2022_jp_query(std::string_view query, std::string& out);

}  // namespace trawl
