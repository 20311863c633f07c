// Which hosts belong together: by registration, and for politeness.
#pragma once

#include <string>
#include <string_view>

#include "trawl/url.h"

namespace trawl {

// The registrable domain of a host name as Url::hostname() gives it: the public suffix
// (https://publicsuffix.org) and one label more, "example.co.uk" for "www.example.co.uk". A view
// into `hostname`, without its trailing dot. An IP address, a host that is itself a public
// suffix, and one of a single label stand for themselves. Thread-safe.
std::string_view registrable_domain(std::string_view hostname);

// The name of the URL's host queue: its host name without trailing dot, then ":port" if that is
// not the scheme's default.
std::string politeness_group(const Url& url);

}  // namespace trawl
