#include "crawler/decide/url_shape.h"

#include <algorithm>
#include <array>
#include <vector>

#include "trawl/url_groups.h"

#include "base/ascii.h"

namespace trawl {

namespace {

std::string_view without_slashes_at_ends(std::string_view path) {
  if (path.starts_with('/')) path.remove_prefix(1);
  if (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

bool is_hex_or_hyphen(char c) {
  return hex_value(c) >= 0 || c == '-';
}

struct IdentifierCandidate {
  std::size_t length;  // length of the run of bytes that may form an identifier
  bool is_identifier;
};

IdentifierCandidate identifier_at_start(std::string_view text) {
  constexpr std::size_t kShortest = 8;
  std::size_t length = 0;
  std::size_t digits = 0;
  bool letter = false;
  for (; length < text.size() && is_hex_or_hyphen(text[length]); ++length) {
    digits += is_ascii_digit(text[length]) ? 1 : 0;
    letter = letter || (!is_ascii_digit(text[length]) && text[length] != '-');
  }
  const bool touched = length < text.size() && is_ascii_alphanumeric(text[length]);
  return {length, !touched && length >= kShortest && digits >= 2 && letter};
}

void append_without_numbers(std::string_view text, std::string& out) {
  std::size_t asked = 0;  // no identifier begins before this position; makes the search linear
  for (std::size_t i = 0; i < text.size();) {
    if (!is_ascii_alphanumeric(text[i])) {
      out += text[i++];
      continue;
    }
    if (i >= asked) {
      const auto [length, is_identifier] = identifier_at_start(text.substr(i));
      asked = i + length;
      if (is_identifier) {
        out += "{id}";
        i = asked;
        continue;
      }
    }
    for (bool in_number = false; i < text.size() && is_ascii_alphanumeric(text[i]); ++i) {
      if (!is_ascii_digit(text[i])) {
        out += text[i];
      } else if (!in_number) {
        out += '0';
      }
      in_number = is_ascii_digit(text[i]);
    }
  }
}

void append_parameter_names(std::string_view query, std::string& out) {
  thread_local std::vector<std::string> names;
  std::size_t count = 0;
  while (!query.empty()) {
    const std::string_view parameter = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(parameter.size() + 1, query.size()));
    if (parameter.empty()) continue;
    if (count == names.size()) names.emplace_back();
    names[count].clear();
    append_without_numbers(parameter.substr(0, parameter.find('=')), names[count++]);
  }
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(count);
  std::sort(names.begin(), end);
  char mark = '?';
  for (auto name = names.begin(); name != end; ++name) {
    if (name != names.begin() && *name == *(name - 1)) continue;
    out += mark;
    out += *name;
    mark = '&';
  }
}

}  // namespace

std::uint32_t count_path_segments(std::string_view path) {
  std::uint32_t slashes = 0;
  for (const char c : path)
    slashes += c == '/' ? 1 : 0;
  return path.ends_with('/') ? slashes - 1 : slashes;
}

bool has_repeated_segments(std::string_view path, std::uint32_t segments, std::uint32_t max_times) {
  if (max_times == 0 || segments <= max_times) return false;
  // A longer run cannot be repeated that often.
  const std::uint32_t longest = std::min(kMaxRepeatedRun, segments / (max_times + 1));
  std::array<std::string_view, kMaxRepeatedRun> last;  // segment n is at n % longest
  // For each run length r, how many consecutive segments equal the segment r before them.
  std::array<std::uint32_t, kMaxRepeatedRun + 1> equal{};
  std::string_view rest = without_slashes_at_ends(path);
  for (std::uint32_t n = 0; n < segments; ++n) {
    const std::string_view segment = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(segment.size() + 1, rest.size()));
    for (std::uint32_t run = 1; run <= std::min(longest, n); ++run) {
      equal[run] = last[(n - run) % longest] == segment ? equal[run] + 1 : 0;
      if (equal[run] >= std::uint64_t{run} * max_times) return true;
    }
    last[n % longest] = segment;
  }
  return false;
}

std::uint32_t count_query_parameters(std::string_view query) {
  if (query.empty()) return 0;
  return 1 + static_cast<std::uint32_t>(std::ranges::count(query, '&'));
}

void url_pattern_into(const Url& url, std::string& out) {
  out = politeness_group(url);
  append_without_numbers(url.path(), out);
  append_parameter_names(url.query(), out);
}

std::string url_pattern_of(const Url& url) {
  std::string out;
  url_pattern_into(url, out);
  return out;
}

}  // namespace trawl
