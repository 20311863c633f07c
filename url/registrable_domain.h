// What url_groups.h is made of.
#pragma once

#include <string_view>

#include "trawl/url_groups.h"

namespace trawl {

// "example.com." names the same host as "example.com"; "." stays.
inline std::string_view without_trailing_dot(std::string_view hostname) {
  if (hostname.size() > 1 && hostname.back() == '.') hostname.remove_suffix(1);
  return hostname;
}

}  // namespace trawl
