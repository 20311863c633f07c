// say: prints messages of commands. Escapes the texts in them, so that nothing from a server, a
// page or a file can control the terminal.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "base/safe_text.h"

namespace trawl::cli {

// Escapes a text, so that it stays on one line; passes other values through.
template <class T>
decltype(auto) safe_part(const T& part) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return escape_unsafe(std::string_view(part));
  } else {
    return part;
  }
}

// As fmt::print(), with texts in `parts` escaped; line ends of the format string stay. Throws
// std::system_error if writing fails.
template <class... Parts>
void say(std::FILE* to, fmt::format_string<Parts...> format, Parts&&... parts) {
  fmt::print(to, fmt::runtime(fmt::string_view(format)), safe_part(parts)...);
}

template <class... Parts>
void say(fmt::format_string<Parts...> format, Parts&&... parts) {
  fmt::print(fmt::runtime(fmt::string_view(format)), safe_part(parts)...);
}

// Prints text of several lines, whose parts may come from anywhere; only line ends and tabs stay.
inline void say_lines(std::FILE* to, std::string_view text) {
  fmt::print(to, "{}", escape_unsafe(text, "\n\t"));
}

// Prints a line whose parts from elsewhere are escaped already; it may have colours.
inline void say_escaped(std::string_view line) {
  fmt::print("{}\n", line);
}

}  // namespace trawl::cli
