// BodyCut: why a response's body is not whole.
#pragma once

#include <cstdint>
#include <string_view>

#include "crawler/http/fetch_error.h"

namespace trawl {

enum class BodyCut : std::uint8_t {
  kNone,        // it is whole, or there is none
  kLength,      // larger than a limit
  kTime,        // not there in time
  kDisconnect,  // the connection broke off, or ended before the body did
};

// As WARC-Truncated and pages.jsonl have it; empty for kNone.
constexpr std::string_view to_string(BodyCut cut) noexcept {
  switch (cut) {
    case BodyCut::kLength:
      return "length";
    case BodyCut::kTime:
      return "time";
    case BodyCut::kDisconnect:
      return "disconnect";
    case BodyCut::kNone:
      break;
  }
  return "";
}

// What a failure that came after the headers did to the body; `ended_early`: of kBadEncoding, that
// the body ended in the middle of its coding.
constexpr BodyCut cut_by(FetchError failure, bool ended_early) noexcept {
  switch (failure) {
    case FetchError::kBodyTooLarge:
    case FetchError::kDownloadTooLarge:
      return BodyCut::kLength;
    case FetchError::kTimeout:
    case FetchError::kTooSlow:
      return BodyCut::kTime;
    case FetchError::kConnectionLost:
      return BodyCut::kDisconnect;
    case FetchError::kBadEncoding:
      return ended_early ? BodyCut::kDisconnect : BodyCut::kNone;
    default:
      return BodyCut::kNone;
  }
}

}  // namespace trawl
