// Which addresses are not of the public internet.
#pragma once

#include <string_view>

#include <sys/socket.h>

namespace trawl {

// True for every address that IANA's registries do not give to hosts of the public internet:
// loopback, private, link-local (where clouds answer metadata requests), carrier-grade NAT,
// documentation, benchmarking, multicast, reserved and so on; and for those that lead to another
// service in each network: AS112, AMT, and a cloud's 168.63.129.16. An IPv6 address that stands for
// an IPv4 one (mapped, NAT64, 6to4, Teredo) is judged by that too.
bool is_private_address(const sockaddr* address);
// The same for a URL's host name: an IP literal (IPv6 in brackets), "localhost" or a name under it.
bool is_private_host(std::string_view hostname);

}  // namespace trawl
