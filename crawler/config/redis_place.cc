#include "crawler/config/redis_place.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "base/ascii.h"
#include "crawler/config/config_values.h"

namespace trawl {

namespace {

constexpr std::size_t kMaxRedisHostBytes = 253;

tl::unexpected<Error> not_a_node(std::string_view why) {
  return error(ErrorCode::kInvalidArgument,
               fmt::format("{}: expected a node of Redis such as \"10.0.0.1:6379\", "
                           "\"redis://redis.example:6379\" or \"rediss://[2001:db8::1]:6379\"",
                           why));
}

bool is_letter_or_digit(char c) {
  return is_ascii_alpha(c) || is_ascii_digit(c);
}

bool has_only_name_characters(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_'; });
}

bool is_redis_host(std::string_view text) {
  return !text.empty() && text.size() <= kMaxRedisHostBytes && is_letter_or_digit(text.front()) &&
         has_only_name_characters(text);
}

bool is_ipv6_address(const std::string& text) {
  in6_addr address{};
  return ::inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

std::optional<std::uint16_t> redis_port_in(std::string_view text) {
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, port);
  if (failed != std::errc() || stop != end || port == 0) return std::nullopt;
  return port;
}

Result<RedisNode> parse_redis_node(std::string_view text) {
  RedisNode node;
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return not_a_node("the bracket is not closed");
    node.host = text.substr(1, end - 1);
    if (!is_ipv6_address(node.host)) return not_a_node("not an IPv6 address in the brackets");
    port = text.substr(end + 1);
    has_port = !port.empty();
    if (has_port && !port.starts_with(':')) return not_a_node("text after the bracket");
    if (has_port) port.remove_prefix(1);
  } else {
    const std::size_t colon = text.find(':');
    has_port = colon != std::string_view::npos;
    node.host = text.substr(0, colon);
    if (has_port) port = text.substr(colon + 1);
    if (port.find(':') != std::string_view::npos) {
      return not_a_node(is_ipv6_address(std::string(text)) ? "an IPv6 address needs brackets"
                                                           : "more than one colon");
    }
    if (text.empty()) return not_a_node("no host");
    if (!is_redis_host(node.host)) {
      return not_a_node(fmt::format("{} is not a host name or IP address", shown(node.host)));
    }
  }
  if (!has_port) return node;
  const auto number = redis_port_in(port);
  if (!number) return not_a_node(fmt::format("{} is not a port, 1 to 65535", shown(port)));
  node.port = *number;
  return node;
}

// What stands before the nodes, which is taken off.
Result<RedisPlace::Tls> take_redis_scheme(std::string_view& text) {
  const std::size_t end = text.find("://");
  if (end == std::string_view::npos) return RedisPlace::Tls::kOpen;
  const std::string_view scheme = text.substr(0, end);
  text.remove_prefix(end + 3);
  if (equal_in_any_case(scheme, "redis")) return RedisPlace::Tls::kNo;
  if (equal_in_any_case(scheme, "rediss")) return RedisPlace::Tls::kYes;
  return not_a_node(
      fmt::format("{} is neither redis:// nor rediss://", shown(std::string(scheme) + "://")));
}

}  // namespace

std::string RedisNode::text() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

Result<RedisPlace> parse_redis_place(std::string_view text) {
  RedisPlace place;
  const auto tls = take_redis_scheme(text);
  if (!tls) return tl::unexpected(tls.error());
  place.tls = *tls;
  // Before anything of it is shown.
  if (text.find('@') != std::string_view::npos) {
    return not_a_node(
        "a user name or password does not belong into the address: other users of the machine and "
        "logs would show it; give cluster.username and cluster.password_file, or --username and "
        "--password-file");
  }
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    place.crawl = text.substr(slash + 1);
    text = text.substr(0, slash);
    if (!place.crawl.empty() && !is_crawl_name(place.crawl)) {
      return error(ErrorCode::kInvalidArgument,
                   fmt::format("{} is not the name of a crawl, which has 1 to {} letters, digits, "
                               "dots, hyphens and underscores, the first a letter or digit",
                               shown(place.crawl), kMaxCrawlName));
    }
  }
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    more = comma != std::string_view::npos;
    auto node = parse_redis_node(text.substr(0, comma));
    if (!node) return tl::unexpected(node.error());
    if (std::ranges::find(place.nodes, *node) == place.nodes.end())
      place.nodes.push_back(std::move(*node));
    if (more) text.remove_prefix(comma + 1);
  }
  return place;
}

bool is_redis_url(std::string_view text) {
  const std::string_view scheme = text.substr(0, text.find("://"));
  return scheme.size() < text.size() &&
         (equal_in_any_case(scheme, "redis") || equal_in_any_case(scheme, "rediss"));
}

bool is_crawl_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxCrawlName && is_letter_or_digit(text.front()) &&
         has_only_name_characters(text);
}

}  // namespace trawl
