// ConnectionAddresses: the addresses of a server or a proxy, in the order in which a transfer tries
// to connect to them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <curl/curl.h>

namespace trawl {

// For one thread.
class ConnectionAddresses {
 public:
  // `allow_private`: whether those that do not belong to the public internet may be used, too.
  explicit ConnectionAddresses(bool allow_private) : allow_private_(allow_private) {}

  void clear() noexcept;
  // `text`: an address, to be tried after those before it.
  void add(const std::string& text);
  // Makes it the first to be tried. Returns false if there is no such address.
  bool prefer(std::string_view text);

  bool empty() const noexcept { return addresses_.empty(); }
  // The family of the first. There must be one.
  int family() const;
  // The first that may be used; empty if there is none.
  std::string_view first_allowed() const;
  // The first that was not tried; null if all were.
  const std::string* untried() const noexcept;
  // The part of `all`, the time to connect, after which the next is tried: the addresses share it,
  // so that a silent one does not use it up.
  std::chrono::steady_clock::duration share_of(std::chrono::steady_clock::duration all) const;

  // Tries the next of the family of `to`: writes it there. libcurl asks for IPv6 first; if IPv4
  // comes first in our order, that is refused at first. Returns false if there is none to try.
  bool take_next(curl_sockaddr& to);
  // The one tried last; empty if none was.
  const std::string& tried() const noexcept { return tried_; }
  // Whether the last one that take_next() came to is private and may not be used.
  bool refused() const noexcept { return refused_; }

 private:
  struct Address {
    std::string text;
    int family;
    bool tried = false;
  };
  bool may_use(const curl_sockaddr& address) const;

  const bool allow_private_;
  std::vector<Address> addresses_;
  std::string tried_;
  bool refused_ = false;
};

}  // namespace trawl
