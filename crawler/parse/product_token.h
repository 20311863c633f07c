// The name by which robots.txt and directives for robots call a crawler.
#pragma once

#include <cstddef>
#include <string_view>

#include "crawler/parse/ascii.h"

namespace trawl {

// The product token at the start of `agent`: "Trawl" of "Trawl/1.0 (+http://...)". The tokens of
// RFC 9309 have no digits, but real crawlers' names do.
constexpr std::string_view product_token(std::string_view agent) noexcept {
  const auto belongs = [](char c) { return is_ascii_alphanumeric(c) || c == '-' || c == '_'; };
  std::size_t size = 0;
  while (size < agent.size() && belongs(agent[size]))
    ++size;
  return agent.substr(0, size);
}

}  // namespace trawl
