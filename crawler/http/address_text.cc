#include "crawler/http/address_text.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "crawler/http/private_address.h"

namespace trawl {

bool write_address(const std::string& text, int family, sockaddr* to) {
  if (family == AF_INET) {
    return ::inet_pton(AF_INET, text.c_str(), &reinterpret_cast<sockaddr_in*>(to)->sin_addr) == 1;
  }
  return ::inet_pton(AF_INET6, text.c_str(), &reinterpret_cast<sockaddr_in6*>(to)->sin6_addr) == 1;
}

bool normalize_address(std::string& host) {
  if (host.find(':') != std::string::npos) return true;
  in_addr address;
  if (host.front() < '0' || host.front() > '9' || ::inet_aton(host.c_str(), &address) == 0)
    return false;
  char dotted[INET_ADDRSTRLEN];
  host = ::inet_ntop(AF_INET, &address, dotted, sizeof dotted);
  return true;
}

bool is_private_text(const std::string& address) {
  return is_private_host(address.find(':') == std::string::npos ? address : "[" + address + "]");
}

}  // namespace trawl
