// Parses the address of a name server.
#pragma once

#include <cstdint>
#include <string_view>

#include <netinet/in.h>

#include "trawl/result.h"

namespace trawl {

struct DnsServerAddress {
  int family = AF_INET;  // or AF_INET6
  in_addr v4{};
  in6_addr v6{};
  std::uint16_t port = 53;
};

// "192.0.2.1", "192.0.2.1:5353", "2001:db8::1", "[2001:db8::1]" or "[2001:db8::1]:5353". Errors:
// kInvalidArgument.
Result<DnsServerAddress> parse_dns_server(std::string_view text);

}  // namespace trawl
