// Links for the owners of other buckets, as messages of an inbox.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/lease.h"

namespace trawl {

// The body of a message. Numbers and strings as in base/coding.h:
//
//   1 (the format), number of requests; for each its bits, URL, depth, and what the bits say
//
// A request whose parent is that of the request before it stores none. `not_before` is kept to the
// millisecond, rounded up.
std::string encode_requests(std::span<const UrlRequest> requests);
// Returns nothing if the bytes are not such a body. The requests point into it.
std::optional<std::vector<UrlRequest>> decode_requests(std::string_view body);

// A message should not be larger: its owner reads many at once, and its bucket may move.
inline constexpr std::size_t kMostMessageBytes = 64 * 1024;
// The body itself, or its requests in several bodies if it is larger; of those a larger one has one
// request.
std::vector<std::string> split_requests(std::string body);

}  // namespace trawl
