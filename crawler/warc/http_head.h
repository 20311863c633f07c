// The heads of HTTP messages as they are written to WARC records.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trawl {

// A request's head with its empty last line, without credentials (Authorization,
// Proxy-Authorization), because archives are shared.
std::string archived_request_head(std::string_view head);

// A response's head with its empty last line, and no empty line before, whatever the server sent,
// so that a reader finds the payload. Fields that do not match the stored payload get the prefix
// "X-Archive-Orig-": Transfer-Encoding, because the payload has no chunks, and a Content-Length
// that is not `payload_size`. `status`: for heads without a status line.
std::string archived_response_head(std::string_view head, int status,
                                   std::optional<std::uint64_t> payload_size);

// The facts of a response that an index has.
struct HttpHeadInfo {
  std::string status;      // three digits, or empty
  std::string mime;        // of the last Content-Type, without parameters; may be empty
  std::size_t length = 0;  // of the head
};
// `message` begins with an archived head.
HttpHeadInfo read_http_head(std::string_view message);

}  // namespace trawl
