// BodyCut: why a response's body is not whole.
#pragma once

#include <cstdint>
#include <string_view>

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

}  // namespace trawl
