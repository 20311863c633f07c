// Decides which addresses do not belong to the public internet.
#pragma once

#include <string_view>

#include <sys/socket.h>

namespace trawl {

// True for every address that IANA's registries do not assign to public hosts: loopback, private,
// link-local (used for metadata services of clouds), carrier-grade NAT, documentation,
// benchmarking, multicast, reserved and so on; and for addresses of local services: AS112, AMT, and
// a cloud's 168.63.129.16. For IPv6 addresses that embed an IPv4 address (mapped, NAT64, 6to4,
// Teredo), that address is checked too.
bool is_private_address(const sockaddr* address);
// The same for a URL's host name: an IP literal (IPv6 in brackets), "localhost" or a name under it.
bool is_private_host(std::string_view hostname);

}  // namespace trawl
