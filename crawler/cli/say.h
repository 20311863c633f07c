// say: all that the commands print for people goes through here, so that nothing that a server, a
// page or a file wrote commands a terminal.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "base/safe_text.h"

namespace trawl::cli {

// What a message is made of: texts escaped, so that each stays on its line.
template <class T>
decltype(auto) safe_part(const T& part) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return escape_unsafe(std::string_view(part));
  } else {
    return part;
  }
}

// As fmt::print(), with the texts among `parts` escaped; the format's own line ends stay. Throws
// std::system_error if it cannot be written.
template <class... Parts>
void say(std::FILE* to, fmt::format_string<Parts...> format, Parts&&... parts) {
  fmt::print(to, fmt::runtime(fmt::string_view(format)), safe_part(parts)...);
}

template <class... Parts>
void say(fmt::format_string<Parts...> format, Parts&&... parts) {
  fmt::print(fmt::runtime(fmt::string_view(format)), safe_part(parts)...);
}

// Text of several lines, made by Trawl of what may be anything.
inline void say_lines(std::FILE* to, std::string_view text) {
  fmt::print(to, "{}", escape_unsafe(text, "\n\t"));
}

}  // namespace trawl::cli
