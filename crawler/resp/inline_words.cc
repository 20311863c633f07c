#include "crawler/resp/inline_words.h"

#include <cstdint>

namespace trawl::resp {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f' || c == '\0';
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

char escaped(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return c;
  }
}

// Reads the quoted text at line[at], which is the quote. Returns the place behind it, or npos.
std::size_t unquote(std::string_view line, std::size_t at, std::string& text) {
  const char quote = line[at++];
  while (at < line.size()) {
    const char c = line[at];
    const bool more = at + 1 < line.size();
    if (c == quote) {
      const bool ends = !more || is_blank(line[at + 1]);
      return ends ? at + 1 : std::string_view::npos;
    }
    if (quote == '"' && c == '\\' && at + 3 < line.size() && line[at + 1] == 'x' &&
        hex_digit(line[at + 2]) >= 0 && hex_digit(line[at + 3]) >= 0) {
      text += static_cast<char>(hex_digit(line[at + 2]) * 16 + hex_digit(line[at + 3]));
      at += 4;
    } else if (quote == '"' && c == '\\' && more) {
      text += escaped(line[at + 1]);
      at += 2;
    } else if (quote == '\'' && c == '\\' && more && line[at + 1] == '\'') {
      text += '\'';
      at += 2;
    } else {
      text += c;
      ++at;
    }
  }
  return std::string_view::npos;
}

}  // namespace

bool split_inline_words(std::string_view line, std::string& text,
                        std::vector<Request::Part>& parts) {
  for (std::size_t at = 0; at < line.size();) {
    if (is_blank(line[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = text.size();
    while (at < line.size() && !is_blank(line[at])) {
      if (line[at] == '"' || line[at] == '\'') {
        at = unquote(line, at, text);
        if (at == std::string_view::npos) return false;
      } else {
        text += line[at++];
      }
    }
    parts.push_back(
        {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(text.size() - begin)});
  }
  return true;
}

}  // namespace trawl::resp
