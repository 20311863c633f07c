// The rules that change a key's path.
#pragma once

#include <cstddef>
#include <string>

#include "url/canonical_names.h"

namespace trawl {

// Each takes a text whose last part, from `start` on, is a path as Url::path() gives it, escapes
// normalised. It is still one afterwards. All take linear time and return whether they changed
// anything.

// Drops what looks like a session id from each segment: ";name=value" of a name in `names`, and
// whole segments "(S(...))" of cookieless ASP.NET sessions.
bool drop_path_session_ids(std::string& text, std::size_t start, const NameMatcher& names);

bool merge_path_slashes(std::string& text, std::size_t start);

// Letters that are part of an escape stay as they are.
bool lowercase_path(std::string& text, std::size_t start);

// Drops index names and slashes from the path's end until there are none: taking one away can bring
// up another. `index_names` may be null; `slashes` tells whether to drop slashes. The first slash
// stays.
void trim_path_end(std::string& text, std::size_t start, const NameMatcher* index_names,
                   bool slashes, RuleSet& fired);

}  // namespace trawl
