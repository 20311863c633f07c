// Product tokens: the names of crawlers in robots.txt and robots directives.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/ascii.h"

namespace trawl {

// The product token at the start of `agent`: "Trawl" for "Trawl/1.0 (+http://...)". Tokens of RFC
// 9309 have no digits, but names of real crawlers do.
constexpr std::string_view product_token(std::string_view agent) noexcept {
  const auto belongs = [](char c) { return is_ascii_alphanumeric(c) || c == '-' || c == '_'; };
  std::size_t size = 0;
  while (size < agent.size() && belongs(agent[size]))
    ++size;
  return agent.substr(0, size);
}

namespace internal {

constexpr std::string_view trimmed(std::string_view text) noexcept {
  while (text.starts_with(' '))
    text.remove_prefix(1);
  while (text.ends_with(' '))
    text.remove_suffix(1);
  return text;
}

// Removes and returns the part of `rest` before the next `separator`.
constexpr std::string_view take_part(std::string_view& rest, char separator) noexcept {
  const std::string_view part = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return trimmed(part);
}

// The product after "compatible" in a comment, preferably one with a version ("mybot/1.0").
// Addresses and URLs are not products.
constexpr std::string_view compatible_token(std::string_view comment) noexcept {
  bool compatible = false;
  std::string_view found;
  while (!comment.empty()) {
    const std::string_view part = take_part(comment, ';');
    if (!compatible) {
      compatible = equal_in_any_case(part, "compatible");
      continue;
    }
    const std::string_view token = product_token(part);
    const std::string_view rest = part.substr(token.size());
    if (token.empty()) continue;
    if (rest.starts_with('/')) return token;
    if (found.empty() && (rest.empty() || rest.starts_with(' '))) found = token;
  }
  return found;
}

}  // namespace internal

// The product token for robots rules of a crawler with user agent `agent`: the first token; but if
// `agent` begins with "Mozilla", as browsers' do, and has a product after "compatible;" in a
// comment, the token of that product: "mybot" for "Mozilla/5.0 (compatible; mybot/1.0;
// +https://...)". A view of `agent`; empty if there is none.
constexpr std::string_view robots_token(std::string_view agent) noexcept {
  const std::string_view first = product_token(agent);
  if (!equal_in_any_case(first, "mozilla")) return first;
  for (std::string_view rest = agent; !rest.empty();) {
    internal::take_part(rest, '(');
    const std::string_view token = internal::compatible_token(internal::take_part(rest, ')'));
    if (!token.empty()) return token;
  }
  return first;
}

}  // namespace trawl
