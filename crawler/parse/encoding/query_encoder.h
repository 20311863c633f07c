// Encodes queries in older encodings.
#pragma once

#include <string>
#include <string_view>

#include "crawler/parse/encoding/page_encoding.h"

namespace trawl {

// Appends `query` (UTF-8) to `out` by the URL Standard's "percent-encode after encoding"; ASCII is
// left to the URL parser. `encoding` must be its own output(), and not UTF-8.
void append_encoded_query(std::string_view query, PageEncoding encoding, std::string& out);

}  // namespace trawl
