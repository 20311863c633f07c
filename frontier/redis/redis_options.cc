#include "frontier/redis/redis_options.h"

#include <fmt/format.h>

namespace trawl {

std::string RedisAddress::text() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

}  // namespace trawl
