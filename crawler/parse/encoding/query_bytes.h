// Bytes of an encoded character in a query (https://url.spec.whatwg.org/#query-state).
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "url/percent_encoding.h"

namespace trawl {

// One to four bytes.
class EncodedCharacter {
 public:
  template <class... Bytes>
  constexpr EncodedCharacter(Bytes... bytes)
      : bytes_{static_cast<char>(bytes)...}, size_(sizeof...(bytes)) {}
  constexpr std::string_view bytes() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, 4> bytes_;
  std::size_t size_;
};

// The special-query percent-encode set. It also applies to ASCII bytes that the encoding produced:
// in ISO-2022-JP one may be a '#'.
constexpr bool is_escaped_in_query(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= ' ' || byte > '~' || std::string_view("\"#<>'").find(c) != std::string_view::npos;
}

inline void append_query_byte(char byte, std::string& out) {
  if (is_escaped_in_query(byte)) {
    append_escape(byte, out);
  } else {
    out += byte;
  }
}

inline void append_query_bytes(const EncodedCharacter& character, std::string& out) {
  for (const char byte : character.bytes())
    append_query_byte(byte, out);
}

// Appends a character that the encoding lacks as forms send it: "&#NNN;", percent-encoded.
inline void append_unencodable(char32_t character, std::string& out) {
  out += "%26%23";
  out += std::to_string(static_cast<unsigned long>(character));
  out += "%3B";
}

}  // namespace trawl
