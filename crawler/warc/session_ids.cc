#include "crawler/warc/session_ids.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/ascii.h"

namespace trawl {

namespace {

using Test = bool (*)(char);

// Each removes what it is named after from the front of `text`; or removes nothing and returns
// false.
bool take_name(std::string_view& text, std::string_view lowered) {
  const bool same = text.size() >= lowered.size() &&
                    std::equal(lowered.begin(), lowered.end(), text.begin(),
                               [](char a, char b) { return a == ascii_lower(b); });
  if (same) text.remove_prefix(lowered.size());
  return same;
}
bool take(std::string_view& text, Test test, std::size_t count) {
  if (text.size() < count || !std::all_of(text.begin(), text.begin() + count, test)) return false;
  text.remove_prefix(count);
  return true;
}
bool take_value(std::string_view& text) {
  const std::size_t length = std::min(text.find('&'), text.size());
  text.remove_prefix(length);
  return length > 0;
}

using Matcher = bool (*)(std::string_view&);

// Takes the last match that a parameter ends with out of the query, and the '&' behind it.
void strip_last(std::string& query, Matcher match) {
  for (std::size_t at = query.size(); at-- > 0;) {
    std::string_view rest = std::string_view(query).substr(at);
    if (!match(rest) || !(rest.empty() || rest.front() == '&')) continue;
    const std::size_t end = query.size() - rest.size();
    query.erase(at, end - at + (rest.empty() ? 0 : 1));
    return;
  }
}

template <char... kName>
bool match_id(std::string_view& text) {
  static constexpr char kText[] = {kName..., '='};
  return take_name(text, std::string_view(kText, sizeof kText)) &&
         take(text, is_ascii_alphanumeric, 32);
}

// "(x(24)y(24)...)/" or "(24)/" before a name with ".aspx" that no '?' comes before.
bool match_path_id(std::string_view& text) {
  if (!text.starts_with('(')) return false;
  std::string_view rest = text.substr(1);
  if (!take(rest, is_ascii_alphanumeric, 24)) {
    std::size_t groups = 0;
    while (rest.size() > 2 && is_ascii_alpha(rest[0]) && rest[1] == '(') {
      rest.remove_prefix(2);
      if (!take(rest, is_ascii_alphanumeric, 24) || !rest.starts_with(')')) return false;
      rest.remove_prefix(1);
      ++groups;
    }
    if (groups == 0) return false;
  }
  if (!rest.starts_with(")/")) return false;
  rest.remove_prefix(2);
  const std::size_t page = rest.substr(0, rest.find('?')).find(".aspx", 1);
  text = rest;
  return page != std::string_view::npos;
}

}  // namespace

void strip_path_session_id(std::string& path) {
  if (path.find(".aspx") == std::string::npos) return;
  for (std::size_t at = path.size(); at-- > 1;) {
    std::string_view rest = std::string_view(path).substr(at);
    if (path[at - 1] != '/' || !match_path_id(rest)) continue;
    path.erase(at, path.size() - rest.size() - at);
    return;
  }
}

void strip_query_session_ids(std::string& query) {
  // In this order: each works on the result of the one before.
  strip_last(query, match_id<'j', 's', 'e', 's', 's', 'i', 'o', 'n', 'i', 'd'>);
  strip_last(query, match_id<'p', 'h', 'p', 's', 'e', 's', 's', 'i', 'd'>);
  strip_last(query, match_id<'s', 'i', 'd'>);
  strip_last(query, [](std::string_view& text) {
    return take_name(text, "aspsessionid") && take(text, is_ascii_alpha, 8) &&
           take_name(text, "=") && take(text, is_ascii_alpha, 24);
  });
  strip_last(query, [](std::string_view& text) {
    return take_name(text, "cfid=") && take_value(text) && take_name(text, "&cftoken=") &&
           take_value(text);
  });
}

}  // namespace trawl
