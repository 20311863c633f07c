#include "crawler/status/access_rules.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include "base/ascii.h"

namespace trawl {

namespace {

// Its name, and the one with its domain, as `hostname -f` prints it. The resolver may be asked for
// that, so not for an address that needs neither.
std::vector<std::string> names_of_machine(const ListenAddress& address) {
  std::vector<std::string> names;
  std::array<char, 256> name{};
  if (address.loopback || ::gethostname(name.data(), name.size() - 1) != 0) return names;
  names.push_back(to_lower(name.data()));
  if (names.front().find('.') != std::string::npos) return names;
  addrinfo hints{};
  hints.ai_flags = AI_CANONNAME;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.data(), nullptr, &hints, &found) != 0) return names;
  if (found->ai_canonname != nullptr) {
    std::string full = to_lower(found->ai_canonname);
    if (full.starts_with(names.front() + '.')) names.push_back(std::move(full));
  }
  ::freeaddrinfo(found);
  return names;
}

bool is_address(std::string_view host) {
  const std::string text(host);
  in_addr v4{};
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) return true;
  if (!host.starts_with('[') || !host.ends_with(']')) return false;
  in6_addr v6{};
  return ::inet_pton(AF_INET6, text.substr(1, text.size() - 2).c_str(), &v6) == 1;
}

// Takes equally long for all texts of a length.
bool equal_secrets(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  unsigned char differences = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    differences |= static_cast<unsigned char>(one[i] ^ other[i]);
  return differences == 0;
}

}  // namespace

AccessRules::AccessRules(const ListenAddress& address, std::string token, bool token_to_read,
                         std::vector<std::string> names)
    : address_(address),
      token_(std::move(token)),
      token_to_read_(token_to_read),
      names_(std::move(names)) {}

AccessRules::AccessRules(const ListenAddress& address, std::string token, bool token_to_read)
    : AccessRules(address, std::move(token), token_to_read, names_of_machine(address)) {}

// `host`: the value of a header Host.
bool AccessRules::is_our_host(std::string_view host) const {
  std::string_view name = host;
  std::uint16_t port = 80;
  const std::size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && !host.ends_with(']')) {
    name = host.substr(0, colon);
    const std::string_view digits = host.substr(colon + 1);
    const char* const end = digits.data() + digits.size();
    const auto [stop, failure] = std::from_chars(digits.data(), end, port);
    if (failure != std::errc() || stop != end || digits.empty()) return false;
  }
  const std::string lower = to_lower(name);
  if (address_.loopback) {
    // Nothing but this machine's own programs can be the client: the port is ours as well.
    if (port != address_.port) return false;
    return lower == "localhost" || lower == "127.0.0.1" || lower == "[::1]" ||
           lower == address_.host || lower == '[' + address_.host + ']';
  }
  // The port may be another one, for example that of a container's host. Whole names alone:
  // anybody may have a name that begins with that of this machine.
  return lower == "localhost" || is_address(lower) ||
         std::ranges::find(names_, lower) != names_.end();
}

bool AccessRules::has_token(const ApiRequest& request, bool in_query) const {
  if (!request.token.empty()) return equal_secrets(request.token, token_);
  if (!request.authorization.empty()) {
    constexpr std::string_view kScheme = "bearer ";
    const std::string_view value = request.authorization;
    return value.size() > kScheme.size() && to_lower(value.substr(0, kScheme.size())) == kScheme &&
           equal_secrets(value.substr(kScheme.size()), token_);
  }
  // For event sources and the page's address, which cannot have headers.
  const auto parameter = request.parameter("token");
  return in_query && parameter && equal_secrets(*parameter, token_);
}

std::optional<ApiReply> AccessRules::refuse(const ApiRequest& request, Needs needs) const {
  if (needs == Needs::kNothing) return std::nullopt;
  if (request.hosts.size() != 1 || !is_our_host(request.hosts.front())) {
    return error_reply(403,
                       address_.loopback
                           ? fmt::format("the header Host must be {}:{} or localhost:{}: use such "
                                         "an address",
                                         address_.host, address_.port, address_.port)
                           : fmt::format("the header Host must be an IP address, localhost or the "
                                         "name of this machine: use such an address"));
  }
  for (const std::string& origin : request.origins) {
    const std::string ours = "://" + to_lower(request.hosts.front());
    // https: behind a proxy that has a certificate.
    if (to_lower(origin) == "http" + ours || to_lower(origin) == "https" + ours) continue;
    return error_reply(403,
                       "the header Origin is that of another site: only the status page "
                       "itself may send requests from a browser");
  }
  const bool changes = needs == Needs::kChanging;
  if (!changes && !token_to_read_) return std::nullopt;
  if (has_token(request, !changes)) return std::nullopt;
  ApiReply refused = error_reply(
      401,
      "the token is missing or wrong: send the text of the file status-token in the state "
      "directory as \"Authorization: Bearer TOKEN\" or \"X-Trawl-Token: TOKEN\"");
  refused.headers.emplace_back("WWW-Authenticate", "Bearer");
  return refused;
}

}  // namespace trawl
