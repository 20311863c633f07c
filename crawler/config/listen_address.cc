#include "crawler/config/listen_address.h"

#include <charconv>
#include <system_error>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include "crawler/config/config_kinds.h"
#include "crawler/config/config_values.h"

namespace trawl {

namespace {

bool read_listen_port(std::string_view text, std::uint16_t& port) {
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, port);
  return failure == std::errc() && stop == end && !text.empty();
}

}  // namespace

Result<ListenAddress> parse_listen_address(std::string_view text) {
  const auto wrong = [text](std::string_view why) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("{}: expected an IP address and a port such as 127.0.0.1:8088, "
                             "[::1]:8088 or localhost:8088; found {}",
                             why, shown(text)));
  };
  ListenAddress address;
  if (read_listen_port(text, address.port)) return address;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong("the port is missing");
  if (!read_listen_port(text.substr(colon + 1), address.port))
    return wrong("not a port (0 to 65535)");
  std::string_view host = text.substr(0, colon);
  const bool brackets = host.starts_with('[') && host.ends_with(']') && host.size() > 2;
  if (brackets) host = host.substr(1, host.size() - 2);
  address.host = host == "localhost" ? "127.0.0.1" : std::string(host);
  in_addr v4{};
  in6_addr v6{};
  if (!brackets && ::inet_pton(AF_INET, address.host.c_str(), &v4) == 1) {
    address.loopback = ntohl(v4.s_addr) >> 24 == 127;
  } else if (brackets && ::inet_pton(AF_INET6, address.host.c_str(), &v6) == 1) {
    address.ipv6 = true;
    address.loopback = IN6_IS_ADDR_LOOPBACK(&v6);
  } else {
    return wrong("not an IP address");
  }
  return address;
}

namespace config_kind {

Kind<std::string> listen_address() {
  Kind<std::string> kind;
  kind.type = "an address such as \"127.0.0.1:8088\"";
  kind.read = [type = kind.type](const toml::node& node,
                                 const ConfigComplaint& complain) -> std::optional<std::string> {
    if (const auto port = node.value_exact<std::int64_t>(); port && *port >= 0 && *port <= 65535)
      return fmt::format("127.0.0.1:{}", *port);
    const auto text = node.value_exact<std::string>();
    if (!text) {
      complain(node, mismatch(type, "", node));
      return std::nullopt;
    }
    if (text->empty()) return text;
    if (const auto address = parse_listen_address(*text); !address) {
      complain(node, address.error().message);
      return std::nullopt;
    }
    return text;
  };
  kind.write = [](const std::string& text) {
    return text.empty() ? std::string() : toml_string(text);
  };
  return kind;
}

}  // namespace config_kind

}  // namespace trawl
