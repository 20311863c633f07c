// ListenAddress: where the status server listens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trawl/result.h"

namespace trawl {

struct ListenAddress {
  std::string host = "127.0.0.1";  // an IP address, without brackets
  std::uint16_t port = 0;          // 0: a free one
  bool ipv6 = false;
  bool loopback = true;
};

// "127.0.0.1:8088", "localhost:8088", "[::1]:8088", "0.0.0.0:8088", or a port alone, which is one
// of 127.0.0.1. Errors: kInvalidArgument.
Result<ListenAddress> parse_listen_address(std::string_view text);

}  // namespace trawl
