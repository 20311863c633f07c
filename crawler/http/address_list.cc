#include "crawler/http/address_list.h"

#include <algorithm>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/file_io.h"
#include "crawler/http/private_address.h"

namespace trawl {

void AddressList::add(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    add(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr);
  } else if (address->sa_family == AF_INET6) {
    add(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
  }
}

bool AddressList::add(const std::string& text) {
  in6_addr address;
  for (const int family : {AF_INET, AF_INET6}) {
    if (::inet_pton(family, text.c_str(), &address) != 1) continue;
    add(family, &address);
    return true;
  }
  return false;
}

void AddressList::add(int family, const void* address) {
  if (version_ == (family == AF_INET ? IpVersion::kV6 : IpVersion::kV4)) return;
  auto& list = family == AF_INET ? v4_ : v6_;
  if (list.size() >= limit_) return;
  char text[INET6_ADDRSTRLEN];
  if (::inet_ntop(family, address, text, sizeof text) == nullptr) return;
  if (std::ranges::find(list, text) == list.end()) list.emplace_back(text);
}

std::vector<std::string> AddressList::ordered(bool ipv6_first) const {
  std::vector<std::string> all;
  if (ipv6_first) {
    for (std::size_t i = 0; i < std::max(v4_.size(), v6_.size()); ++i) {
      if (i < v6_.size()) all.push_back(v6_[i]);
      if (i < v4_.size()) all.push_back(v4_[i]);
    }
  } else {
    all = v4_;
    all.insert(all.end(), v6_.begin(), v6_.end());
  }
  all.resize(std::min(all.size(), limit_));
  return all;
}

bool has_global_ipv6() {
  const FileDescriptor socket(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return false;
  // Connecting a UDP socket consults the routing table and sends nothing. The first global unicast
  // address (RFC 4291, 2.4) stands for all of them.
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(443);
  address.sin6_addr.s6_addr[0] = 0x20;
  socklen_t size = sizeof address;
  auto* name = reinterpret_cast<sockaddr*>(&address);
  return ::connect(socket.get(), name, size) == 0 &&
         ::getsockname(socket.get(), name, &size) == 0 && !is_private_address(name);
}

}  // namespace trawl
