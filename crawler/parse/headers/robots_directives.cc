// Parses <meta name="robots"> and X-Robots-Tag as documented by Google and Bing.
#include "trawl/robots_directives.h"

#include <algorithm>
#include <cstddef>

#include "base/ascii.h"
#include "crawler/parse/headers/product_token.h"

namespace trawl {
namespace {

// Lists without commas, such as "noindex nofollow" and "noindex; nofollow", are common, and their
// meaning is clear.
constexpr AsciiSet kWordBreaks = kHtmlWhiteSpace.with(";");

bool is_word_break(char c) {
  return kWordBreaks.contains(c);
}

// Directives with a value after a colon, which are not names of crawlers.
constexpr std::string_view kWithValue[] = {"unavailable_after", "max-snippet", "max-image-preview",
                                           "max-video-preview"};

// Removes and returns the part of `text` before the next `separator`.
std::string_view next_part(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return part;
}

void add_word(std::string_view word, RobotsDirectives& directives) {
  if (equal_in_any_case(word, "noindex")) {
    directives.noindex = true;
  } else if (equal_in_any_case(word, "nofollow")) {
    directives.nofollow = true;
  } else if (equal_in_any_case(word, "none")) {
    directives.noindex = true;
    directives.nofollow = true;
  } else if (equal_in_any_case(word, "noarchive") || equal_in_any_case(word, "nocache")) {
    directives.noarchive = true;
  }
}

// Adds the words between two commas. "name: value" is ignored ("max-image-preview: none" is not
// "none"), but words before it count.
void add_words(std::string_view part, RobotsDirectives& directives) {
  const std::size_t colon = part.find(':');
  if (colon != std::string_view::npos) {
    part = trim(part.substr(0, colon));
    while (!part.empty() && !is_word_break(part.back()))  // the name
      part.remove_suffix(1);
  }
  for (auto word = next_token(part, kWordBreaks); !word.empty();
       word = next_token(part, kWordBreaks))
    add_word(word, directives);
}

// Removes and returns the crawler's name at the start of `part`; empty if there is none. A name has
// no white space, unlike "25 Jun 2030 15:00:00 GMT", the rest of a date with a comma.
std::string_view take_name(std::string_view& part) {
  const std::size_t colon = part.find(':');
  if (colon == std::string_view::npos) return {};
  const std::string_view name = trim(part.substr(0, colon));
  if (name.empty() || std::ranges::any_of(name, is_word_break)) return {};
  for (const std::string_view directive : kWithValue) {
    if (equal_in_any_case(name, directive)) return {};
  }
  part.remove_prefix(colon + 1);
  return name;
}

bool is_for(std::string_view name, std::string_view token) {
  return name == "*" || (!token.empty() && equal_in_any_case(product_token(name), token));
}

void add_line(std::string_view line, std::string_view token, RobotsDirectives& directives) {
  bool ours = true;
  while (!line.empty()) {
    std::string_view part = next_part(line, ',');
    for (std::string_view name = take_name(part); !name.empty(); name = take_name(part))
      ours = is_for(name, token);
    if (ours) add_words(part, directives);
  }
}

}  // namespace

RobotsDirectives parse_robots_meta(std::string_view content) {
  RobotsDirectives directives;
  while (!content.empty())
    add_words(next_part(content, ','), directives);
  return directives;
}

RobotsDirectives parse_x_robots_tag(std::string_view value, std::string_view agent) {
  RobotsDirectives directives;
  const std::string_view token = robots_token(agent);
  while (!value.empty())
    add_line(next_part(value, '\n'), token, directives);
  return directives;
}

}  // namespace trawl
