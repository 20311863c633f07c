// The rules that change a key's query.
#pragma once

#include <cstddef>
#include <string>

#include "url/canonical_names.h"

namespace trawl {

// Each takes a text whose last part, from `start` on, is a query without its '?', escapes
// normalised: parameters between '&'s, each a name up to its first '=' and a value. They return
// whether they dropped or moved anything.

// Drops the parameters of the names. Linear time.
bool drop_query_parameters(std::string& text, std::size_t start, const NameMatcher& names);

// Sorts by the names' bytes; parameters of one name keep their order. Empty ones are dropped.
bool sort_query_parameters(std::string& text, std::size_t start);

}  // namespace trawl
