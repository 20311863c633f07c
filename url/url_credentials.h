// Removes user names and passwords from URLs: they are for the server only, and nothing that Trawl
// writes for people may have them.
#pragma once

#include <string>
#include <string_view>

namespace trawl {

namespace credentials {

// The position of the first authority after `from`, in a URL or other text; npos if there is none.
struct Authority {
  std::size_t begin = std::string_view::npos;
  std::size_t end = 0;
};
inline Authority find_authority(std::string_view text, std::size_t from, std::string_view ends) {
  const auto is_slash = [](char c) { return c == '/' || c == '\\'; };
  for (std::size_t i = from; i + 1 < text.size(); ++i) {
    if (!is_slash(text[i]) || !is_slash(text[i + 1])) continue;
    while (i < text.size() && is_slash(text[i]))
      ++i;
    const std::size_t end = text.find_first_of(ends, i);
    return {i, end == std::string_view::npos ? text.size() : end};
  }
  return {};
}

}  // namespace credentials

// Returns `url`, or `scratch` with the URL without user name and password. `url` may be any text.
inline std::string_view without_credentials(std::string_view url, std::string& scratch) {
  if (url.find('@') == std::string_view::npos) return url;
  const auto [begin, end] = credentials::find_authority(url, 0, "/\\?#");
  // After '?' or '#' there is no authority.
  if (begin > url.find_first_of("?#")) return url;
  const std::size_t at = url.substr(0, end).rfind('@');
  if (at == std::string_view::npos || at < begin) return url;
  scratch.assign(url.substr(0, begin)).append(url.substr(at + 1));
  return scratch;
}

inline std::string without_credentials(std::string_view url) {
  std::string scratch;
  return std::string(without_credentials(url, scratch));
}

// A message without the credentials of the URLs in it.
inline std::string scrubbed(std::string_view message) {
  std::string out(message);
  for (std::size_t from = 0; from < out.size();) {
    const auto [begin, end] = credentials::find_authority(out, from, "/\\?#\"'<> \t");
    if (begin == std::string_view::npos) break;
    const std::size_t at = std::string_view(out).substr(0, end).rfind('@');
    const bool found = at != std::string_view::npos && at >= begin;
    if (found) out.erase(begin, at + 1 - begin);
    from = begin;
  }
  return out;
}

}  // namespace trawl
