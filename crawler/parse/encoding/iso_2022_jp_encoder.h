// Queries in ISO-2022-JP, whose bytes mean one thing or another by the escape sequence before them.
#pragma once

#include <string>
#include <string_view>

namespace trawl {

// As append_encoded_query(). Tabs and line ends, which the URL parser drops, are dropped here so
// that they do not cost an escape sequence.
void append_iso_2022_jp_query(std::string_view query, std::string& out);

}  // namespace trawl
