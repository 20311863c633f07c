// The rules that change a key's query.
#pragma once

#include <cstddef>
#include <string>

#include "url/name_matcher.h"

namespace trawl {

// Each takes a text that from `start` on is a query without '?', with normalised escapes:
// parameters separated by '&', each a name up to the first '=' and a value. They return whether
// they dropped or moved anything.

// Drops the parameters with these names. Linear time.
bool drop_query_parameters(std::string& text, std::size_t start, const NameMatcher& names);

// Sorts parameters by the bytes of their names; parameters of the same name keep their order. Drops
// empty parameters.
bool sort_query_parameters(std::string& text, std::size_t start);

}  // namespace trawl
