#include "crawler/http/connection_addresses.h"

#include <algorithm>
#include <cassert>
#include <cstddef>

#include <sys/socket.h>

#include "crawler/http/address_text.h"
#include "crawler/http/private_address.h"

namespace trawl {

void ConnectionAddresses::clear() noexcept {
  addresses_.clear();
  tried_.clear();
  refused_ = false;
}

void ConnectionAddresses::add(const std::string& text) {
  const int family = text.find(':') == std::string::npos ? AF_INET : AF_INET6;
  addresses_.push_back({.text = text, .family = family});
}

bool ConnectionAddresses::prefer(std::string_view text) {
  const auto at = std::ranges::find(addresses_, text, &Address::text);
  if (at == addresses_.end()) return false;
  std::rotate(addresses_.begin(), at, at + 1);
  return true;
}

int ConnectionAddresses::family() const {
  assert(!empty());
  return addresses_.front().family;
}

std::string_view ConnectionAddresses::first_allowed() const {
  const auto first = std::ranges::find_if(addresses_, [this](const Address& address) {
    return allow_private_ || !is_private_text(address.text);
  });
  return first == addresses_.end() ? std::string_view() : first->text;
}

const std::string* ConnectionAddresses::untried() const noexcept {
  const auto next = std::ranges::find(addresses_, false, &Address::tried);
  return next == addresses_.end() ? nullptr : &next->text;
}

std::chrono::steady_clock::duration ConnectionAddresses::share_of(
    std::chrono::steady_clock::duration all) const {
  constexpr std::size_t kMostShares = 4;
  const auto tried = std::ranges::count(addresses_, true, &Address::tried);
  const auto shares = static_cast<std::ptrdiff_t>(std::min(addresses_.size(), kMostShares));
  return shares == 0 ? all : all * tried / shares;
}

bool ConnectionAddresses::take_next(curl_sockaddr& to) {
  const auto is_untried = [](const Address& address, int family) {
    return !address.tried && address.family == family;
  };
  if (to.family == AF_INET6 && !empty() && family() == AF_INET &&
      std::ranges::any_of(addresses_,
                          [&](const Address& each) { return is_untried(each, AF_INET); }))
    return false;
  for (Address& next : addresses_) {
    if (!is_untried(next, to.family)) continue;
    next.tried = true;
    if (!write_address(next.text, next.family, &to.addr)) continue;
    refused_ = !may_use(to);
    if (refused_) continue;
    tried_ = next.text;
    return true;
  }
  return false;
}

// A name is resolved by us, so that a public name with a private address is refused, too.
bool ConnectionAddresses::may_use(const curl_sockaddr& address) const {
  return allow_private_ || !is_private_address(&address.addr);
}

}  // namespace trawl
