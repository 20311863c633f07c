// AddressList: the addresses of a host, gathered from an answer and put in the order to try them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <sys/socket.h>

#include "crawler/config/config.h"

namespace trawl {

class AddressList {
 public:
  // Keeps at most `limit` addresses of a family, and of those only such as `version` allows.
  AddressList(IpVersion version, std::size_t limit) : version_(version), limit_(limit) {}

  void add(const sockaddr* address);
  // False if `text` is no IP address. One that is not allowed is passed over.
  bool add(const std::string& text);
  bool empty() const { return v4_.empty() && v6_.empty(); }

  // At most `limit`. With IPv6 first, the families take turns: if one does not work, the next try
  // is of the other. Without, IPv6 comes last: it is likely to lead nowhere.
  std::vector<std::string> ordered(bool ipv6_first) const;

 private:
  void add(int family, const void* address);

  const IpVersion version_;
  const std::size_t limit_;
  std::vector<std::string> v4_;
  std::vector<std::string> v6_;
};

// Whether packets to the public IPv6 internet would leave with a public address. Sends none.
bool has_global_ipv6();

}  // namespace trawl
