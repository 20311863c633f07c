// A reference implementation of robots.txt: simple, slow, and independent of the tested one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace trawl {

// Whether `pattern`, of normalised text with '*' and a last '$', matches `path`: a table of which
// start of the pattern matches which start of the path.
inline bool reference_matches(std::string_view pattern, std::string_view path) {
  const bool anchored = pattern.ends_with('$');
  std::string whole(anchored ? pattern.substr(0, pattern.size() - 1) : pattern);
  if (!anchored) whole += '*';
  std::vector<bool> matches(path.size() + 1, false);
  matches[0] = true;
  for (const char c : whole) {
    std::vector<bool> next(path.size() + 1, false);
    for (std::size_t i = 0; i <= path.size(); ++i) {
      if (c == '*') {
        next[i] = matches[i] || (i > 0 && next[i - 1]);
      } else {
        next[i] = i > 0 && matches[i - 1] && path[i - 1] == c;
      }
    }
    matches = std::move(next);
  }
  return matches[path.size()];
}

// Percent-encoding as RFC 9309 compares it; in patterns a '*', and a '$' at the end, stay.
inline std::string reference_normal(std::string_view text, bool is_pattern) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  const auto is_in = [](std::string_view set, char c) { return set.find(c) != set.npos; };
  const std::string unreserved =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
  const auto digit = [&](char c) {
    return kHex.find(c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c);
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    const bool last = i + 1 == text.size();
    if (is_pattern && (c == '*' || (c == '$' && last))) {
      out += c;
      continue;
    }
    bool escaped = false;
    if (c == '%' && i + 2 < text.size() && digit(text[i + 1]) != kHex.npos &&
        digit(text[i + 2]) != kHex.npos) {
      c = static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      escaped = true;
      i += 2;
    }
    if (is_in(unreserved, c) || (!escaped && is_in(":/?#[]@!&()+,;=%", c))) {
      out += c;
    } else {
      out += {'%', kHex[static_cast<unsigned char>(c) >> 4], kHex[c & 15]};
    }
  }
  return out;
}

struct ReferenceRule {
  std::string pattern;  // not empty
  bool allow = false;
};

// The index of the rule that decides over `path`, or rules.size().
inline std::size_t reference_decision(const std::vector<ReferenceRule>& rules,
                                      std::string_view path) {
  const std::string target = reference_normal(path, false);
  std::size_t best = rules.size();
  std::size_t best_octets = 0;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::string pattern = reference_normal(rules[i].pattern, true);
    if (!reference_matches(pattern, target)) continue;
    const bool better = best == rules.size() || pattern.size() > best_octets ||
                        (pattern.size() == best_octets && rules[i].allow && !rules[best].allow);
    if (!better) continue;
    best = i;
    best_octets = pattern.size();
  }
  return best;
}

}  // namespace trawl
