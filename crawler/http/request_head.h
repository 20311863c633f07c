// Converts the head of a request for archives.
#pragma once

#include <string>
#include <string_view>

namespace trawl {

// Returns a head that libcurl sent in the form of HTTP/1.1, without the empty line and without
// credentials for a proxy.
std::string http1_request_head(std::string_view head);

}  // namespace trawl
