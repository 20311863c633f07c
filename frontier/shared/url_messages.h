// Links for the owners of other buckets, as messages of an inbox.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/lease.h"

#include "frontier/store/queued_url.h"

namespace trawl {

// What a message says.
struct UrlMessage {
  std::vector<UrlRequest> requests;
  // For each request; or empty, if none has one. That with a fingerprint was stored before, and
  // counts in place of the key and queue of its request, which may have none. If that is
  // `seen_only`, it needs no URL.
  std::vector<GivenIdentity> given = {};
};

// The body of a message. Numbers and strings as in base/coding.h:
//
//   1 (the format), number of requests; for each its bits, URL, depth, and what the bits say
//
// A request whose parent is that of the request before it stores none. `not_before` is kept to the
// millisecond, rounded up. `given`: as in UrlMessage.
std::string encode_requests(std::span<const UrlRequest> requests,
                            std::span<const GivenIdentity> given = {});
// Returns nothing if the bytes are not such a body. The requests point into it.
std::optional<UrlMessage> decode_requests(std::string_view body);

// A message should not be larger: its owner reads many at once, and its bucket may move.
inline constexpr std::size_t kMostMessageBytes = 64 * 1024;
// The body itself, or its requests in several bodies if it is larger; of those a larger one has one
// request.
std::vector<std::string> split_requests(std::string body);

}  // namespace trawl
