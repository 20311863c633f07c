#include "crawler/resp/glob_match.h"

#include <algorithm>
#include <cstddef>

namespace trawl::resp {

namespace {

// Whether `c` is in the set that begins at pattern[at], which is '['. Moves `at` behind the set.
bool in_set(std::string_view pattern, std::size_t& at, char c) {
  ++at;
  const bool negated = at < pattern.size() && pattern[at] == '^';
  if (negated) ++at;
  bool found = false;
  while (at < pattern.size() && pattern[at] != ']') {
    if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
    const char from = pattern[at++];
    char to = from;
    if (at + 1 < pattern.size() && pattern[at] == '-' && pattern[at + 1] != ']') {
      to = pattern[at + 1];
      at += 2;
    }
    const auto byte = static_cast<unsigned char>(c);
    const auto one = static_cast<unsigned char>(from);
    const auto other = static_cast<unsigned char>(to);
    found = found || (std::min(one, other) <= byte && byte <= std::max(one, other));
  }
  if (at < pattern.size()) ++at;
  return found != negated;
}

// Whether the element at pattern[at] is `c`. Moves `at` behind the element.
bool matches_one(std::string_view pattern, std::size_t& at, char c) {
  if (pattern[at] == '[') return in_set(pattern, at, c);
  if (pattern[at] == '?') return ++at, true;
  if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
  return pattern[at++] == c;
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view text, std::uint64_t& work) {
  std::size_t at = 0;
  std::size_t read = 0;
  // The last star, and where the text that it stands for ends: only that needs to be tried again.
  std::size_t star = std::string_view::npos;
  std::size_t star_end = 0;
  while (read < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = ++at;
      star_end = read;
      continue;
    }
    if (at < pattern.size()) {
      const std::size_t begin = at;
      const bool matches = matches_one(pattern, at, text[read]);
      work += at - begin;
      if (matches) {
        ++read;
        continue;
      }
    }
    if (star == std::string_view::npos) return false;
    at = star;
    read = ++star_end;
  }
  while (at < pattern.size() && pattern[at] == '*')
    ++at;
  return at == pattern.size();
}

}  // namespace trawl::resp
