// RedisOptions: which Redis, and how it is reached.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

namespace trawl {

struct RedisAddress {
  std::string host;  // a name or an IP address, IPv6 without brackets
  std::uint16_t port = 6379;
  bool operator==(const RedisAddress&) const = default;
  auto operator<=>(const RedisAddress&) const = default;
  std::string text() const;  // "10.0.0.1:6379", "[::1]:6379"
};

// "HOST" or "HOST:PORT", IPv6 as in "[::1]:6379". Errors: kInvalidArgument.
Result<RedisAddress> parse_redis_address(std::string_view text);

struct RedisOptions {
  // Any nodes of one cluster, or one server without cluster mode.
  std::vector<RedisAddress> addresses = {};
  std::string username = {};  // empty: "default"
  std::string password = {};  // empty: without AUTH
  bool tls = false;
  std::string ca_file = {};  // PEM; empty: the system's authorities
  std::chrono::milliseconds connect_timeout{1000};
  // A node that sends nothing for this long while an answer is due counts as out of reach.
  std::chrono::milliseconds answer_timeout{2000};
  // How old the map of slots may become; after failures it is read again at once.
  std::chrono::milliseconds map_age{10'000};
  // For how long writes wait for a replica of a master that had one and has none any more.
  std::chrono::seconds replica_patience{60};
};

}  // namespace trawl
