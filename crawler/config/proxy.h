// Proxy: the address and protocol of a proxy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "url/percent_encoding.h"

namespace trawl {

// Host and port of a URL's server.
struct Endpoint {
  std::string host;  // IPv6 addresses without brackets
  std::uint16_t port = 0;
  bool tls = false;
};

// The endpoint of a canonically serialised http(s) URL; nothing for other texts.
std::optional<Endpoint> endpoint_of(const std::string& url);

// Finds escapes such as "%0A" in a proxy's user or password: libcurl refuses these, and would send
// the request without the proxy.
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
  // Parses "http://", "https://", "socks4://", "socks4a://", "socks5://" or "socks5h://",
  // optionally with user and password. Returns nothing for other texts.
  static std::optional<Proxy> parse(const std::string& url);

  Endpoint endpoint;
  bool tls = false;
  // The proxy gets the address of the server (socks4, socks5) instead of its name.
  bool wants_address = false;
  std::string scheme;
  std::string credentials;  // "user:password@" as written; empty: none

  // The proxy as a URL, with an address in place of its host name.
  std::string at(const std::string& address) const;
};

}  // namespace trawl
