#include "url/percent_encoding.h"

namespace trawl {

namespace {

struct Utf8Lead {
  unsigned continuation_bytes;  // 0: no lead byte of a multi-byte sequence
  unsigned char second_min;     // the range of the second byte excludes overlong forms,
  unsigned char second_max;     // surrogates and what lies beyond U+10FFFF
  char32_t bits;
};

constexpr Utf8Lead utf8_lead(unsigned char byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {1, 0x80, 0xBF, byte & 0x1Fu};
  if (byte == 0xE0) return {2, 0xA0, 0xBF, 0};
  if (byte == 0xED) return {2, 0x80, 0x9F, 0xD};
  if (byte >= 0xE1 && byte <= 0xEF) return {2, 0x80, 0xBF, byte & 0x0Fu};
  if (byte == 0xF0) return {3, 0x90, 0xBF, 0};
  if (byte >= 0xF1 && byte <= 0xF3) return {3, 0x80, 0xBF, byte & 0x07u};
  if (byte == 0xF4) return {3, 0x80, 0x8F, 4};
  return {0, 0, 0, 0};
}

}  // namespace

char32_t decode_utf8(std::string_view text, std::size_t& position) {
  const auto first = static_cast<unsigned char>(text[position++]);
  if (first < 0x80) return first;
  const Utf8Lead lead = utf8_lead(first);
  if (lead.continuation_bytes == 0) return kReplacementCharacter;
  char32_t code_point = lead.bits;
  unsigned char min = lead.second_min;
  unsigned char max = lead.second_max;
  for (unsigned i = 0; i < lead.continuation_bytes; ++i) {
    if (position == text.size()) return kReplacementCharacter;
    const auto byte = static_cast<unsigned char>(text[position]);
    if (byte < min || byte > max) return kReplacementCharacter;
    code_point = (code_point << 6) | (byte & 0x3Fu);
    ++position;
    min = 0x80;
    max = 0xBF;
  }
  return code_point;
}

void append_utf8(char32_t code_point, std::string& out) {
  const auto continuation = [&](unsigned shift) {
    out.push_back(static_cast<char>(0x80 | ((code_point >> shift) & 0x3F)));
  };
  if (code_point < 0x80) {
    out.push_back(static_cast<char>(code_point));
  } else if (code_point < 0x800) {
    out.push_back(static_cast<char>(0xC0 | (code_point >> 6)));
    continuation(0);
  } else if (code_point < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | (code_point >> 12)));
    continuation(6);
    continuation(0);
  } else {
    out.push_back(static_cast<char>(0xF0 | (code_point >> 18)));
    continuation(12);
    continuation(6);
    continuation(0);
  }
}

void append_escape(char byte, std::string& out) {
  const auto value = static_cast<unsigned char>(byte);
  const char escape[] = {'%', kUpperHexDigits[value >> 4], kUpperHexDigits[value & 0xF]};
  out.append(escape, sizeof escape);
}

void percent_encode(std::string_view text, const AsciiSet& set, std::string& out) {
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t start = position;
    while (position < text.size() && is_ascii(text[position]) && !set.contains(text[position])) {
      ++position;
    }
    out.append(text, start, position - start);
    if (position == text.size()) return;
    if (is_ascii(text[position])) {
      append_escape(text[position++], out);
      continue;
    }
    const std::size_t sequence = position;
    if (decode_utf8(text, position) == kReplacementCharacter) {
      out.append("%EF%BF%BD");
      continue;
    }
    for (std::size_t i = sequence; i < position; ++i)
      append_escape(text[i], out);
  }
}

std::string percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    if (escape_length(text, i) != 0) {
      out.push_back(escaped_byte(text, i));
      i += 3;
    } else {
      out.push_back(text[i++]);
    }
  }
  return out;
}

}  // namespace trawl
