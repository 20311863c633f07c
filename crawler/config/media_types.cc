#include "crawler/config/media_types.h"

#include <algorithm>

#include "base/ascii.h"

namespace trawl {

namespace {

constexpr std::string_view kTypeMarks = "!#$%&'+-.^_`|~";  // of RFC 9110, except '*'

bool is_type_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_ascii_alphanumeric(c) || kTypeMarks.find(c) != std::string_view::npos;
  });
}

// The type and subtype of a header's value.
std::string_view essence(std::string_view content_type) {
  content_type = content_type.substr(0, content_type.find(';'));
  constexpr std::string_view kBlanks = " \t";
  const std::size_t start = content_type.find_first_not_of(kBlanks);
  if (start == std::string_view::npos) return {};
  return content_type.substr(start, content_type.find_last_not_of(kBlanks) - start + 1);
}

// The part of "image/*" and "*/*" before the final '*', with the slash of the first.
std::string_view stem(std::string_view pattern) {
  return pattern.substr(0, pattern.find('*'));
}

}  // namespace

bool MediaTypes::is_pattern(std::string_view text) {
  if (text == "*/*") return true;
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || !is_type_token(text.substr(0, slash))) return false;
  const std::string_view subtype = text.substr(slash + 1);
  return subtype == "*" || is_type_token(subtype);
}

MediaTypes::MediaTypes(std::span<const std::string> patterns) {
  for (const std::string& pattern : patterns) {
    if (is_pattern(pattern)) patterns_.push_back(to_lower(stem(pattern)));
  }
}

bool MediaTypes::matches(std::string_view content_type) const {
  const std::string_view type = essence(content_type);
  return std::ranges::any_of(patterns_, [type](std::string_view pattern) {
    const bool any_subtype = pattern.empty() || pattern.ends_with('/');
    if (any_subtype ? type.size() < pattern.size() : type.size() != pattern.size()) return false;
    return std::ranges::equal(type.substr(0, pattern.size()), pattern, {}, ascii_lower);
  });
}

}  // namespace trawl
