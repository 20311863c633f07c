#include "crawler/http/private_address.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace trawl {

namespace {

struct Block {
  std::uint32_t prefix;
  int bits;
};

constexpr std::array<Block, 7> kPrivateBlocks = {{
    {0x00000000, 8},   // "this network"
    {0x0A000000, 8},   // 10/8
    {0x64400000, 10},  // 100.64/10, shared by carriers
    {0x7F000000, 8},   // 127/8, loopback
    {0xA9FE0000, 16},  // 169.254/16, link-local; clouds answer metadata requests there
    {0xAC100000, 12},  // 172.16/12
    {0xC0A80000, 16},  // 192.168/16
}};

bool is_private_v4(std::uint32_t address) {
  for (const Block& block : kPrivateBlocks) {
    if ((address ^ block.prefix) >> (32 - block.bits) == 0) return true;
  }
  return false;
}

bool is_private_v6(const in6_addr& address) {
  const std::uint8_t* bytes = address.s6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    std::uint32_t v4;
    std::memcpy(&v4, bytes + 12, sizeof v4);
    return is_private_v4(ntohl(v4));
  }
  return IN6_IS_ADDR_LOOPBACK(&address) || IN6_IS_ADDR_UNSPECIFIED(&address) ||
         IN6_IS_ADDR_LINKLOCAL(&address) || (bytes[0] & 0xFE) == 0xFC;  // fc00::/7, unique local
}

}  // namespace

bool is_private_address(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    return is_private_v4(ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr));
  }
  if (address->sa_family == AF_INET6) {
    return is_private_v6(reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
  }
  return true;
}

bool is_private_host(std::string_view hostname) {
  if (hostname.ends_with('.')) hostname.remove_suffix(1);
  if (hostname == "localhost" || hostname.ends_with(".localhost")) return true;
  if (hostname.starts_with('[') && hostname.ends_with(']')) {
    in6_addr address;
    const std::string literal(hostname.substr(1, hostname.size() - 2));
    return ::inet_pton(AF_INET6, literal.c_str(), &address) == 1 && is_private_v6(address);
  }
  in_addr address;
  return ::inet_pton(AF_INET, std::string(hostname).c_str(), &address) == 1 &&
         is_private_v4(ntohl(address.s_addr));
}

}  // namespace trawl
