// Links for the owners of other buckets, as messages of an inbox.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/lease.h"

#include "frontier/shared/bucket_batch.h"

namespace trawl {

// Ids that are never used twice: random bytes of this process, and a number. Not thread-safe.
class MessageIds {
 public:
  MessageIds();
  MessageId next();

 private:
  std::uint64_t session_;
  std::uint64_t number_ = 0;
};

// The body of a message. Numbers and strings as in base/coding.h:
//
//   1 (the format), number of requests; for each its bits, URL, depth, and what the bits say
//
// A request whose parent is that of the request before it stores none. `not_before` is kept to the
// millisecond, rounded up.
std::string encode_requests(std::span<const UrlRequest> requests);
// Returns nothing if the bytes are not such a body. The requests point into it.
std::optional<std::vector<UrlRequest>> decode_requests(std::string_view body);

}  // namespace trawl
