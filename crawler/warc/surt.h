// surt: the sort-friendly key of a URL, by which CDXJ indexes are sorted and searched.
#pragma once

#include <string>

#include "trawl/url.h"

namespace trawl {

// "com,example)/path?a=1&b=2" of "http://www.Example.com/Path/?b=2&a=1#top": the key that pywb and
// cdxj-indexer look a capture up by. docs/warc.md has the rules. Holds no space and no control
// character.
std::string surt(const Url& url);

}  // namespace trawl
