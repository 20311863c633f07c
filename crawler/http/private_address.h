// Which addresses are not of the public internet.
#pragma once

#include <string_view>

#include <sys/socket.h>

namespace trawl {

// True for loopback, private, link-local, carrier-grade-NAT and unspecified IPv4 and IPv6
// addresses (RFC 6890 and its registries), IPv4-mapped ones included.
bool is_private_address(const sockaddr* address);
// The same for a URL's host name: an IP literal (IPv6 in brackets), "localhost" or a name under it.
bool is_private_host(std::string_view hostname);

}  // namespace trawl
