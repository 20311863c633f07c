// Proxy: where a proxy is, and how it is spoken to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "url/percent_encoding.h"

namespace trawl {

// Where a URL's server is.
struct Endpoint {
  std::string host;  // IPv6 addresses without brackets
  std::uint16_t port = 0;
  bool tls = false;
};

// Of an http(s) URL as canonical serialisation has it. Empty: it is none.
std::optional<Endpoint> endpoint_of(const std::string& url);

// As "%0A" in a proxy's user or password: libcurl does not take that, and would send the request
// without the proxy.
constexpr bool has_encoded_control(std::string_view text) {
  for (std::size_t i = text.find('%'); i != std::string_view::npos; i = text.find('%', i + 1)) {
    if (i + 2 < text.size() && (text[i + 1] == '0' || text[i + 1] == '1') &&
        hex_value(text[i + 2]) >= 0) {
      return true;
    }
  }
  return false;
}

struct Proxy {
  // "http://", "https://", "socks4://", "socks4a://", "socks5://" or "socks5h://", with user and
  // password perhaps. Empty: it is none of these.
  static std::optional<Proxy> parse(const std::string& url);

  Endpoint endpoint;
  bool tls = false;
  // It is told the address of the server (socks4, socks5), and not its name.
  bool wants_address = false;
  std::string scheme;
  std::string credentials;  // "user:password@" as written; empty: none

  // As a URL, with an address instead of its host's name.
  std::string at(const std::string& address) const;
};

}  // namespace trawl
