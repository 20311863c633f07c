// SetAsideRecord: the stored record of a URL set aside, keyed by its fingerprint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trawl/set_aside.h"

#include "frontier/store/queued_url.h"

namespace trawl {

// The views point into the caller's memory, or into the encoded value.
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
// Returns nothing if the bytes are not a valid record. `value` must outlive the result.
std::optional<SetAsideRecord> decode_set_aside(std::string_view value);
// Returns nothing if the URL's record is not valid.
std::optional<SetAsideUrl> set_aside_url(const SetAsideRecord& record);

}  // namespace trawl
