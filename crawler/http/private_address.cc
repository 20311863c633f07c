// Registries, all below https://www.iana.org/assignments/:
//   iana-ipv4-special-registry and iana-ipv6-special-registry (RFC 6890), multicast-addresses,
//   ipv4-address-space, ipv6-address-space.
#include "crawler/http/private_address.h"

#include <cstdint>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace trawl {

namespace {

struct BlockV4 {
  std::uint32_t prefix;
  int bits;
};

constexpr BlockV4 kPrivateV4[] = {
    {0x00000000, 8},   // 0.0.0.0/8, "this network"
    {0x0A000000, 8},   // 10.0.0.0/8, private
    {0x64400000, 10},  // 100.64.0.0/10, shared by carriers; metadata of some clouds
    {0x7F000000, 8},   // 127.0.0.0/8, loopback
    {0xA9FE0000, 16},  // 169.254.0.0/16, link-local; metadata of most clouds
    {0xA83F8110, 32},  // 168.63.129.16, a cloud's internal services
    {0xAC100000, 12},  // 172.16.0.0/12, private
    {0xC0000000, 24},  // 192.0.0.0/24, protocol assignments
    {0xC0000200, 24},  // 192.0.2.0/24, documentation
    {0xC01FC400, 24},  // 192.31.196.0/24, AS112, anycast
    {0xC034C100, 24},  // 192.52.193.0/24, AMT relays, anycast
    {0xC0586300, 24},  // 192.88.99.0/24, formerly 6to4 relays
    {0xC0A80000, 16},  // 192.168.0.0/16, private
    {0xC0AF3000, 24},  // 192.175.48.0/24, AS112
    {0xC6120000, 15},  // 198.18.0.0/15, benchmarking
    {0xC6336400, 24},  // 198.51.100.0/24, documentation
    {0xCB007100, 24},  // 203.0.113.0/24, documentation
    {0xE0000000, 4},   // 224.0.0.0/4, multicast
    {0xF0000000, 4},   // 240.0.0.0/4, reserved; 255.255.255.255, broadcast
};

bool is_private_v4(std::uint32_t address) {
  for (const BlockV4& block : kPrivateV4) {
    if ((address ^ block.prefix) >> (32 - block.bits) == 0) return true;
  }
  return false;
}

// A block of IPv6 addresses, by the first 64 bits; no block below has a longer prefix.
struct BlockV6 {
  std::uint64_t prefix;
  int bits;
  constexpr bool contains(std::uint64_t high) const { return (high ^ prefix) >> (64 - bits) == 0; }
};

// All public hosts have addresses in this block; others are loopback, link-local, unique local,
// multicast, discard-only or reserved.
constexpr BlockV6 kGlobalUnicast = {0x2000'0000'0000'0000, 3};  // 2000::/3

constexpr BlockV6 kTeredo = {0x2001'0000'0000'0000, 32};         // 2001::/32
constexpr BlockV6 kSixToFour = {0x2002'0000'0000'0000, 16};      // 2002::/16
constexpr BlockV6 kIetfProtocols = {0x2001'0000'0000'0000, 23};  // 2001::/23, benchmarking, ORCHID
constexpr BlockV6 kPrivateV6[] = {
    kIetfProtocols,
    {0x2001'0DB8'0000'0000, 32},  // 2001:db8::/32, documentation
    {0x2620'004F'8000'0000, 48},  // 2620:4f:8000::/48, AS112
    {0x3FFF'0000'0000'0000, 20},  // 3fff::/20, documentation
};

bool is_private_v6(std::uint64_t high, std::uint64_t low) {
  const auto last_v4 = static_cast<std::uint32_t>(low);
  const bool is_mapped = high == 0 && low >> 32 == 0xFFFF;                // ::ffff:0:0/96
  const bool is_nat64 = high == 0x0064'FF9B'0000'0000 && low >> 32 == 0;  // 64:ff9b::/96
  if (is_mapped || is_nat64) return is_private_v4(last_v4);
  // This includes local NAT64 (64:ff9b:1::/48), where only the network itself knows the position of
  // the IPv4 address, and the obsolete IPv4-compatible addresses (::/96).
  if (!kGlobalUnicast.contains(high)) return true;
  if (kTeredo.contains(high)) {  // RFC 4380, 4: the server, and the client with its bits inverted
    return is_private_v4(static_cast<std::uint32_t>(high)) || is_private_v4(~last_v4);
  }
  if (kSixToFour.contains(high)) return is_private_v4(static_cast<std::uint32_t>(high >> 16));
  for (const BlockV6& block : kPrivateV6) {
    if (block.contains(high)) return true;
  }
  return false;
}

bool is_private_v6(const in6_addr& address) {
  std::uint64_t halves[2] = {0, 0};
  for (int i = 0; i < 16; ++i)
    halves[i / 8] = halves[i / 8] << 8 | address.s6_addr[i];
  return is_private_v6(halves[0], halves[1]);
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
