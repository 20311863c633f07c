#include "crawler/status/listening_socket.h"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace trawl {

namespace {

constexpr int kListenBacklog = 1024;

std::string authority_of(const ListenAddress& address) {
  return fmt::format(fmt::runtime(address.ipv6 ? "[{}]:{}" : "{}:{}"), address.host, address.port);
}

tl::unexpected<Error> cannot_listen(const ListenAddress& address, int reason) {
  const std::string where = authority_of(address);
  if (reason == EADDRINUSE) {
    return error(ErrorCode::kInUse,
                 fmt::format("cannot serve the status page on {}: the port is in use, perhaps by "
                             "another crawl: choose another with status.listen, or port 0 for a "
                             "free one",
                             where));
  }
  if (reason == EADDRNOTAVAIL) {
    return error(ErrorCode::kIo,
                 fmt::format("cannot serve the status page on {}: this machine does "
                             "not have the address: change status.listen",
                             where));
  }
  if (reason == EACCES) {
    return error(ErrorCode::kPermission,
                 fmt::format("cannot serve the status page on {}: no permission: choose a port "
                             "above 1023 with status.listen",
                             where));
  }
  return tl::unexpected(system_error(reason, "cannot serve the status page on " + where));
}

}  // namespace

Result<ListeningSocket> ListeningSocket::open(const ListenAddress& address) {
  sockaddr_storage place{};
  socklen_t size = sizeof(sockaddr_in);
  auto& v4 = reinterpret_cast<sockaddr_in&>(place);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(place);
  if (address.ipv6) {
    size = sizeof(sockaddr_in6);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(address.port);
    ::inet_pton(AF_INET6, address.host.c_str(), &v6.sin6_addr);
  } else {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(address.port);
    ::inet_pton(AF_INET, address.host.c_str(), &v4.sin_addr);
  }
  FileDescriptor socket(::socket(place.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return cannot_listen(address, errno);
  const int yes = 1;
  // A port that a crawl left a moment ago can be used; one that is listened on cannot.
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&place), size) != 0 ||
      ::listen(socket.get(), kListenBacklog) != 0) {
    return cannot_listen(address, errno);
  }
  ListenAddress bound = address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&place), &size) == 0)
    bound.port = ntohs(address.ipv6 ? v6.sin6_port : v4.sin_port);
  return ListeningSocket(std::move(socket), std::move(bound));
}

std::string ListeningSocket::url() const {
  ListenAddress shown = address_;
  if (shown.host == "0.0.0.0") shown.host = "127.0.0.1";
  if (shown.host == "::") shown.host = "::1";
  return fmt::format("http://{}/", authority_of(shown));
}

}  // namespace trawl
