// The rules that change a key's path.
#pragma once

#include <cstddef>
#include <string>

#include "url/name_matcher.h"

namespace trawl {

// Each takes a text that from `start` on is a path in the form of Url::path(), with normalised
// escapes, and keeps that form. All take linear time and return whether they changed anything.

// Drops session ids from each segment: ";name=value" for each name in `names`, and whole segments
// "(S(...))" of cookieless ASP.NET sessions.
bool drop_path_session_ids(std::string& text, std::size_t start, const NameMatcher& names);

bool merge_path_slashes(std::string& text, std::size_t start);

// Does not change letters in escapes.
bool lowercase_path(std::string& text, std::size_t start);

// Drops index names and slashes from the path's end until there are none, since dropping one can
// expose another. `index_names` may be null; `slashes` says whether to drop slashes. The first
// slash stays.
void trim_path_end(std::string& text, std::size_t start, const NameMatcher* index_names,
                   bool slashes, RuleSet& fired);

}  // namespace trawl
