#include "crawler/config/proxy.h"

#include <array>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

namespace trawl {

namespace {

struct Kind {
  std::string_view scheme;
  std::uint16_t port;
  bool wants_address;
};
// The default ports are libcurl's.
constexpr std::array<Kind, 6> kKinds = {{{"http", 1080, false},
                                         {"https", 443, false},
                                         {"socks4", 1080, true},
                                         {"socks4a", 1080, false},
                                         {"socks5", 1080, true},
                                         {"socks5h", 1080, false}}};

// host, host:port, [host], [host]:port
bool parse_host(std::string_view text, Endpoint& endpoint) {
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    endpoint.host.assign(text.substr(1, end - 1));
    port = text.substr(end + 1);
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    endpoint.host.assign(text.substr(0, colon));
    port = text.substr(colon);
  }
  if (endpoint.host.empty() || endpoint.host.find('@') != std::string::npos) return false;
  if (port.size() < 2) return port.empty() || port == ":";
  const char* const end = port.data() + port.size();
  const auto [rest, error] = std::from_chars(port.data() + 1, end, endpoint.port);
  return port.front() == ':' && rest == end && error == std::errc();
}

}  // namespace

std::optional<Endpoint> endpoint_of(const std::string& url) {
  Endpoint endpoint;
  std::string_view rest = url;
  if (rest.starts_with("http://")) {
    endpoint.port = 80;
    rest.remove_prefix(7);
  } else if (rest.starts_with("https://")) {
    endpoint.port = 443;
    endpoint.tls = true;
    rest.remove_prefix(8);
  } else {
    return std::nullopt;
  }
  rest = rest.substr(0, rest.find_first_of("/?#"));
  rest = rest.substr(rest.rfind('@') + 1);
  if (!parse_host(rest, endpoint)) return std::nullopt;
  return endpoint;
}

std::optional<Proxy> Proxy::parse(const std::string& url) {
  const std::size_t colon = url.find("://");
  if (colon == std::string::npos) return std::nullopt;
  for (const Kind& kind : kKinds) {
    if (std::string_view(url).substr(0, colon) != kind.scheme) continue;
    Proxy proxy;
    proxy.scheme = kind.scheme;
    proxy.wants_address = kind.wants_address;
    proxy.endpoint.port = kind.port;
    proxy.endpoint.tls = proxy.tls = kind.scheme == "https";
    std::string_view rest = std::string_view(url).substr(colon + 3);
    rest = rest.substr(0, rest.find_first_of("/?#"));
    const std::size_t host = rest.find('@') + 1;
    proxy.credentials = rest.substr(0, host);
    if (has_encoded_control(proxy.credentials)) return std::nullopt;
    if (!parse_host(rest.substr(host), proxy.endpoint)) return std::nullopt;
    return proxy;
  }
  return std::nullopt;
}

std::string Proxy::at(const std::string& address) const {
  const bool v6 = address.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}{}:{}", scheme, credentials, v6 ? "[" : "", address, v6 ? "]" : "",
                     endpoint.port);
}

}  // namespace trawl
