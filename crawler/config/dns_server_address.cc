#include "crawler/config/dns_server_address.h"

#include <charconv>
#include <string>

#include <arpa/inet.h>
#include <fmt/format.h>

namespace trawl {

namespace {

bool read_port(std::string_view text, std::uint16_t& port) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, port);
  return error == std::errc() && stop == end && port != 0;
}

}  // namespace

Result<DnsServerAddress> parse_dns_server(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("{}: expected the address of a name server such as 192.0.2.1, "
                             "192.0.2.1:5353 or [2001:db8::1]:53",
                             why));
  };
  DnsServerAddress server;
  std::string_view address = text;
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return wrong("the bracket is not closed");
    address = text.substr(1, end - 1);
    port = text.substr(end + 1);
    has_port = !port.empty();
    if (has_port && !port.starts_with(':')) return wrong("text after the bracket");
    if (address.find(':') == std::string_view::npos)
      return wrong("not an IPv6 address in the brackets");
  } else if (text.find(':') == text.rfind(':') && text.find(':') != std::string_view::npos) {
    address = text.substr(0, text.find(':'));
    port = text.substr(text.find(':'));
    has_port = true;
  }
  if (has_port && !read_port(port.substr(1), server.port)) return wrong("not a port (1 to 65535)");
  const std::string terminated(address);
  if (terminated.size() != std::string_view(terminated.c_str()).size())
    return wrong("not an address");
  if (::inet_pton(AF_INET, terminated.c_str(), &server.v4) == 1) return server;
  server.family = AF_INET6;
  if (::inet_pton(AF_INET6, terminated.c_str(), &server.v6) == 1) return server;
  return wrong("not an IP address");
}

}  // namespace trawl
