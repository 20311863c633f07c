// Constructs in which Gumbo differs from the HTML Standard, or knows one of its older versions
// only, so that the link engines may disagree on a page that has them. docs/links.md lists them.
#pragma once

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/ascii.h"
#include "crawler/parse/html/gumbo_text.h"
#include "crawler/parse/html/html_tokenizer.h"

namespace trawl {

// Gumbo joins the name of a repeated attribute without a value to the next attribute's. Whether a
// '<' begins a tag, the tree decides: looks at each.
inline bool has_repeated_attribute(std::string_view html) {
  HtmlTokenizer tokens;
  for (std::size_t at = html.find('<'); at != std::string_view::npos; at = html.find('<', at + 1)) {
    tokens.reset(html.substr(at));
    if (tokens.next_tag() == TokenKind::kEnd || tokens.offset() != 0) continue;
    std::set<std::string> names;
    for (const RawAttribute& attribute : tokens.attributes()) {
      const bool is_new = names.insert(to_lower(tokens.name_of(attribute))).second;
      if (!is_new && attribute.value == attribute.name_end) return true;
    }
  }
  return false;
}

// From the first SVG or MathML on.
inline std::string_view from_foreign_content(std::string_view lower) {
  const std::size_t foreign = std::min(lower.find("<svg"), lower.find("<math"));
  return lower.substr(std::min(foreign, lower.size()));
}

// </p> and </br> end SVG and MathML; in older versions of the standard they did not.
inline bool has_paragraph_end(std::string_view lower) {
  return lower.find("</p") != std::string_view::npos ||
         lower.find("</br") != std::string_view::npos;
}

// In SVG and MathML Gumbo knows an end tag only if '>' follows its name at once.
inline bool has_long_end_tag(std::string_view text) {
  for (std::size_t at = text.find("</"); at != std::string_view::npos;
       at = text.find("</", at + 2)) {
    const std::size_t end = text.find_first_of("\t\n\f\r />", at + 2);
    if (end != std::string_view::npos && end > at + 2 && text[end] != '>') return true;
  }
  return false;
}

// <hr> may stand in <select>; in older versions of the standard it is ignored there.
inline bool has_rule_in_select(std::string_view lower) {
  const std::size_t select = lower.find("<select");
  return select != std::string_view::npos && lower.find("<hr", select) != std::string_view::npos;
}

// References of numbers that overflow an int of Gumbo's, or to characters of plane 15, in which
// controls are hidden from it.
inline bool has_odd_reference(std::string_view lower) {
  for (std::size_t at = lower.find("&#"); at != std::string_view::npos;
       at = lower.find("&#", at + 2)) {
    std::size_t digit = at + 2;
    const bool hex = digit < lower.size() && lower[digit] == 'x';
    if (hex) ++digit;
    std::uint64_t number = 0;
    for (; digit < lower.size() && number <= INT_MAX; ++digit) {
      const char c = lower[digit];
      if (c >= '0' && c <= '9') {
        number = number * (hex ? 16 : 10) + static_cast<std::uint64_t>(c - '0');
      } else if (hex && c >= 'a' && c <= 'f') {
        number = number * 16 + static_cast<std::uint64_t>(c - 'a' + 10);
      } else {
        break;
      }
    }
    if (number > INT_MAX || number >> 16 == 0xF) return true;
  }
  return false;
}

// Characters of plane 15 keep controls from being hidden from Gumbo there.
inline bool has_plane_15(std::string_view html) {
  for (std::size_t at = html.find('\xF3'); at != std::string_view::npos;
       at = html.find('\xF3', at + 1)) {
    if (at + 1 < html.size() && static_cast<unsigned char>(html[at + 1]) >= 0xB0) return true;
  }
  return false;
}

inline bool has_known_engine_difference(std::string_view html) {
  GumboText text;  // names that differ only in bytes that are not characters are equal
  if (has_repeated_attribute(text.hide(html))) return true;
  const std::string lower = to_lower(html);
  const std::string_view foreign = from_foreign_content(lower);
  return has_paragraph_end(foreign) || has_long_end_tag(foreign) || has_rule_in_select(lower) ||
         has_odd_reference(lower) || has_plane_15(html);
}

}  // namespace trawl
