// BodyTruncation: why a response's body is incomplete.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "crawler/http/fetch_error.h"

namespace trawl {

enum class BodyTruncation : std::uint8_t {
  kLength,      // larger than a limit
  kTime,        // not received in time
  kDisconnect,  // the connection was lost before the body's end
};

// As WARC-Truncated and pages.jsonl have it.
constexpr std::string_view to_string(BodyTruncation cut) noexcept {
  switch (cut) {
    case BodyTruncation::kLength:
      return "length";
    case BodyTruncation::kTime:
      return "time";
    case BodyTruncation::kDisconnect:
      return "disconnect";
  }
  return "";
}
// Empty of a whole body.
constexpr std::string_view to_string(std::optional<BodyTruncation> cut) noexcept {
  return cut ? to_string(*cut) : std::string_view();
}

// How a failure after the headers cut the body. `ended_early`: for kBadEncoding, the body ended in
// the middle of its coding. Nothing: the body is whole, or there is none.
constexpr std::optional<BodyTruncation> truncation_by(FetchError failure,
                                                      bool ended_early) noexcept {
  switch (failure) {
    case FetchError::kBodyTooLarge:
    case FetchError::kDownloadTooLarge:
      return BodyTruncation::kLength;
    case FetchError::kTimeout:
    case FetchError::kTooSlow:
      return BodyTruncation::kTime;
    case FetchError::kConnectionLost:
      return BodyTruncation::kDisconnect;
    case FetchError::kBadEncoding:
      return ended_early ? std::optional(BodyTruncation::kDisconnect) : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace trawl
