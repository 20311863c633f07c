// Characters as bytes of the older encodings, for queries.
#pragma once

#include <string>
#include <string_view>

#include "crawler/parse/encoding/page_encoding.h"

namespace trawl {

// Appends `query`, UTF-8, to `out` by the URL Standard's percent-encoding after encoding; ASCII is
// left to the URL parser. `encoding` is not UTF-8 and its own output().
void append_encoded_query(std::string_view query, PageEncoding encoding, std::string& out);

}  // namespace trawl
