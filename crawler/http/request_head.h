// The head of a request as archives keep it.
#pragma once

#include <string>
#include <string_view>

namespace trawl {

// A head as libcurl sent it, in the form of HTTP/1.1, without the empty line and without
// credentials for a proxy.
std::string http1_request_head(std::string_view head);

}  // namespace trawl
