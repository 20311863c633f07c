// Addresses on loopback, for the tests' servers.
#pragma once

#include <cstdint>
#include <cstdlib>

#include <netinet/in.h>
#include <sys/socket.h>

namespace trawl::test {

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// Binds a socket to a free port; returns its address.
inline sockaddr_in bind_to_loopback(int socket) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* name = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket, name, size) != 0 || ::getsockname(socket, name, &size) != 0) std::abort();
  return address;
}

}  // namespace trawl::test
