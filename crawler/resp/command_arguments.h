// Parts of arguments, and of errors, that several commands share.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/ascii.h"
#include "crawler/resp/command.h"

namespace trawl::resp {

inline constexpr std::string_view kWrongType =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr std::string_view kNotFoundError = "ERR not found";
inline constexpr std::string_view kItemExists = "ERR item exists";
inline constexpr std::string_view kSyntaxError = "ERR syntax error";
inline constexpr std::string_view kNotInteger = "ERR value is not an integer or out of range";
inline constexpr std::string_view kNoMemoryError =
    "OOM command not allowed when used memory > 'maxmemory'";
inline constexpr std::string_view kReadOnlyFilter =
    "READONLY the filter is read in place from its file, and cannot be changed: raise --max-memory "
    "if it is one of this server";
inline constexpr std::size_t kLongestName = 4096;

// Whether `word` is `name` in any case; `name` is in capitals.
inline bool is_word(std::string_view word, std::string_view name) {
  return word.size() == name.size() &&
         std::equal(word.begin(), word.end(), name.begin(), [](char a, char b) {
           return (a >= 'a' && a <= 'z' ? static_cast<char>(a - 32) : a) == b;
         });
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

inline std::string wrong_arity(std::string_view command) {
  std::string name(command);
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return fmt::format("ERR wrong number of arguments for '{}' command", name);
}

// Why a filter could not be made, as a reply.
inline std::string creation_error(const Error& error) {
  if (error.code == ErrorCode::kNoSpace)
    return fmt::format("{}: {}", kNoMemoryError, error.message);
  return fmt::format("ERR could not create filter: {}", error.message);
}

// Replies with an error, and returns false, if no filter may have this name.
inline bool check_name(CommandCall& call, std::string_view name) {
  if (name.size() <= kLongestName) return true;
  call.reply.error(fmt::format("ERR the name of a filter has at most {} bytes", kLongestName));
  return false;
}

}  // namespace trawl::resp
