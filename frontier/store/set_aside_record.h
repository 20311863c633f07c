// SetAsideRecord: a URL that was set aside, as the store holds it, by its fingerprint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trawl/set_aside.h"

#include "frontier/store/queued_url.h"

namespace trawl {

// The views are of the caller's, or of the value decoded.
struct SetAsideRecord {
  SetAsideState state = SetAsideState::kHeld;
  bool was_queued = true;  // false: a link that was never admitted
  std::string_view reason;
  std::uint64_t rules = 0;
  int status = 0;
  std::int64_t since = 0;  // milliseconds of the wall clock
  std::int32_t priority = 0;
  std::string_view url_record;  // encode_record()
};

std::string encode_set_aside(const SetAsideRecord& record);
// Nothing if the bytes are no such record. `value` must outlive the answer.
std::optional<SetAsideRecord> decode_set_aside(std::string_view value);
// Nothing if the URL's record does not decode.
std::optional<SetAsideUrl> set_aside_url(const SetAsideRecord& record);

}  // namespace trawl
