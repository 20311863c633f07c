// OwnerCommand: what a person asks of the crawler that owns a bucket.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trawl/lease.h"
#include "trawl/set_aside.h"

namespace trawl {

struct OwnerCommand {
  enum class Kind : std::uint8_t {
    kSetHost = 1,   // Frontier::set_host(): blocks, revives, limits
    kDropHost = 2,  // Frontier::drop_host()
    kRetry = 3,     // Frontier::retry(), of this bucket's URLs set aside
  };
  Kind kind = Kind::kSetHost;
  std::string host = {};       // as Lease::host; of kSetHost and kDropHost
  HostSettings settings = {};  // of kSetHost
  RetryWhich which = {};       // of kRetry; without `wanted`
};

// Numbers and strings as in base/coding.h: 1 (the format), kind, then what belongs to it.
std::string encode_owner_command(const OwnerCommand& command);
// Returns nothing if the bytes are not a command.
std::optional<OwnerCommand> decode_owner_command(std::string_view body);

}  // namespace trawl
