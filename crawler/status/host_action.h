// HostAction: the body of POST /api/v1/host.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "trawl/clocks.h"
#include "trawl/result.h"

namespace trawl {

struct HostAction {
  enum class Kind { kBlock, kUnblock, kRevive, kDelay, kDrop };
  std::string host;  // in the form of Lease::host
  Kind kind = Kind::kBlock;
  std::optional<SystemTime> until = std::nullopt;  // of a block
  std::chrono::milliseconds delay{0};
};

// Errors: kInvalidArgument, in words for the sender. `now`: of a duration in "until".
Result<HostAction> parse_host_action(std::string_view body, SystemTime now);

// The form of Lease::host for a host as people write it: in any case, with a scheme or without, as
// part of a URL. Errors: kInvalidArgument.
Result<std::string> host_as_written(std::string_view text);

}  // namespace trawl
