// AddressList: collects the addresses of a host and orders them for connecting.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <sys/socket.h>

#include "crawler/config/crawl_config.h"

namespace trawl {

class AddressList {
 public:
  // Keeps at most `limit` addresses of each family that `version` allows.
  AddressList(IpVersion version, std::size_t limit) : version_(version), limit_(limit) {}

  void add(const sockaddr* address);
  // Returns false if `text` is not an IP address. Ignores addresses that `version` does not allow.
  bool add(const std::string& text);
  bool empty() const { return v4_.empty() && v6_.empty(); }

  // At most `limit` addresses. With `ipv6_first`, the families alternate, so that if one does not
  // work, the next try uses the other. Without, IPv6 addresses come last, since they probably
  // cannot be reached.
  std::vector<std::string> ordered(bool ipv6_first) const;

 private:
  void add(int family, const void* address);

  const IpVersion version_;
  const std::size_t limit_;
  std::vector<std::string> v4_;
  std::vector<std::string> v6_;
};

// Whether packets to the public IPv6 internet would have a public source address. Sends nothing.
bool has_global_ipv6();

}  // namespace trawl
