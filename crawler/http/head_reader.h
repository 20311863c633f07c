// HeadReader: reads the header lines of a response, and of 1xx responses before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "crawler/http/http_client.h"

namespace trawl {

class HeadReader {
 public:
  // Stores into `response`, which must stay valid.
  void begin(const HttpOptions& options, HttpResponse& response);
  // Takes a line with its end, including the empty line, as libcurl delivers them. Returns false on
  // failure.
  bool take(std::string_view line);

  // Takes a line ahead, perhaps in pieces, as libcurl is about to look at it. Returns false on
  // failure: libcurl must not see a folded line without a line before it.
  bool allows(std::string_view piece);

  // True after the empty line of the final response. Trailers may still follow.
  bool complete() const noexcept { return complete_; }
  int status() const noexcept { return status_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  std::optional<std::uint64_t> content_length() const noexcept { return content_length_; }
  std::optional<FetchError> failure() const noexcept { return failure_; }
  const std::string& reason() const noexcept { return reason_; }

 private:
  void take_status(std::string_view line);
  bool unfold(std::string_view line);
  bool fail_folded();
  bool end_field();
  bool take_field(std::string_view line);
  bool take_length(std::string_view value);
  void capture(std::string_view line);
  bool fail(FetchError failure, std::string reason);

  HttpResponse* response_ = nullptr;
  std::uint64_t max_bytes_ = 0;
  bool capture_ = false;
  bool complete_ = false;
  int status_ = 0;
  std::uint64_t bytes_ = 0;
  std::size_t lines_ = 0;
  bool at_line_ = true;  // the next piece begins a line
  std::string field_;    // the last header line, which may be continued by a folded line
  std::optional<std::uint64_t> content_length_;
  std::optional<FetchError> failure_;
  std::string reason_;
};

// A head as libcurl sent it, in the form of HTTP/1.1, without the empty line and without
// credentials for a proxy.
std::string http1_request_head(std::string_view head);

// A head without the fields whose names, in lower case, are `names`, and lines that continue them.
std::string without_fields(std::string head, std::span<const std::string> names);

}  // namespace trawl
