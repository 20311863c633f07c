#include "frontier/redis/redis_options.h"

#include <charconv>

#include <fmt/format.h>

#include "base/safe_text.h"

namespace trawl {

std::string RedisAddress::text() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<RedisAddress> parse_redis_address(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("\"{}\" is not the address of a Redis node: {}; write HOST or "
                             "HOST:PORT, for example 10.0.0.1:6379 or [::1]:6379",
                             escape_unsafe(text), why));
  };
  RedisAddress address;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return wrong("\"]\" is missing");
    address.host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
  } else {
    const std::size_t colon = text.find(':');
    address.host = text.substr(0, colon);
    rest = colon == std::string_view::npos ? "" : text.substr(colon);
    if (rest.find(':', 1) != std::string_view::npos) return wrong("an IPv6 address needs brackets");
  }
  if (address.host.empty()) return wrong("the host is missing");
  if (address.host.find_first_of("/@ \t") != std::string::npos)
    return wrong("the host has a character that no host has");
  if (rest.empty()) return address;
  std::uint16_t port = 0;
  const char* const end = rest.data() + rest.size();
  const auto [at, failed] = std::from_chars(rest.data() + 1, end, port);
  if (rest[0] != ':' || failed != std::errc() || at != end || port == 0)
    return wrong("the port must be a number from 1 to 65535");
  address.port = port;
  return address;
}

}  // namespace trawl
