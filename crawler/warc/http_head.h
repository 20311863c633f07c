// The heads of HTTP messages as they go into WARC records.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trawl {

// A request's head with the empty line at its end. Credentials (Authorization,
// Proxy-Authorization) are left out: archives are passed on.
std::string archived_request_head(std::string_view head);

// A response's head with the empty line at its end, and none before, whatever the server sent: a
// reader finds the payload where it is. Fields that do not fit the payload as it is kept get
// "X-Archive-Orig-" before their names: Transfer-Encoding, as chunks are put together, and any
// Content-Length that is not `payload_size`. `status` is for heads without a status line.
std::string archived_response_head(std::string_view head, int status,
                                   std::optional<std::uint64_t> payload_size);

// What indexes tell of a response.
struct HttpFacts {
  std::string status;      // three digits, or empty
  std::string mime;        // of the last Content-Type, without parameters; may be empty
  std::size_t length = 0;  // of the head
};
// `message` begins with an archived head.
HttpFacts http_facts(std::string_view message);

}  // namespace trawl
