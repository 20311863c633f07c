#include "crawler/output/json_line.h"

#include <array>
#include <bit>
#include <cassert>
#include <charconv>
#include <cstring>

#include "base/rfc3339.h"
#include "base/safe_text.h"
#include "base/utf8.h"

namespace trawl {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

constexpr std::uint64_t repeated(std::uint8_t byte) {
  return 0x0101010101010101u * byte;
}

// True if one of the eight bytes is a control character, a quote, a backslash or not ASCII. May be
// true by mistake for bytes above one of these, which costs a check of each byte.
constexpr bool any_special(std::uint64_t bytes) {
  const auto zero_in = [](std::uint64_t word) { return (word - repeated(0x01)) & ~word; };
  const std::uint64_t controls = (bytes - repeated(0x20)) & ~bytes;
  const std::uint64_t quotes = zero_in(bytes ^ repeated('"'));
  const std::uint64_t backslashes = zero_in(bytes ^ repeated('\\'));
  const std::uint64_t deletes = zero_in(bytes ^ repeated(0x7f));
  return ((controls | quotes | backslashes | deletes | bytes) & repeated(0x80)) != 0;
}

constexpr bool is_special(unsigned char c) {
  return c < 0x20 || c == '"' || c == '\\' || c >= 0x7f;
}

// The number of bytes from `at` on that need neither escaping nor checking.
std::size_t plain_run(std::string_view bytes, std::size_t at) {
  std::size_t i = at;
  for (; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    if (any_special(word)) break;
  }
  while (i < bytes.size() && !is_special(static_cast<unsigned char>(bytes[i])))
    ++i;
  return i - at;
}

// The first bytes of all characters that are unsafe.
bool may_be_unsafe(unsigned char lead) {
  return lead == 0xc2 || lead == 0xd8 || lead == 0xe2 || lead == 0xef || lead == 0xf3;
}

template <class Number>
void append_number(std::string& out, Number value) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

}  // namespace

void append_json_string(std::string& out, std::string_view bytes) {
  out += '"';
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t plain = plain_run(bytes, at);
    out.append(bytes, at, plain);
    at += plain;
    if (at == bytes.size()) break;
    const auto c = static_cast<unsigned char>(bytes[at]);
    if (c < 0x80) {
      append_json_escape(out, c);
      ++at;
      continue;
    }
    const Utf8Sequence character = utf8_sequence_at(bytes.substr(at));
    if (!character.valid) {
      out += kReplacement;
    } else if (may_be_unsafe(c) && is_unsafe(character.code)) {
      append_json_escape(out, character.code);  // the file may be shown on a terminal
    } else {
      out.append(bytes, at, character.length);
    }
    at += character.length;
  }
  out += '"';
}

void JsonLine::comma() {
  if (out_.back() != '{' && out_.back() != '[') out_ += ',';
}

void JsonLine::begin(std::string_view key) {
  assert(!in_array_);
  comma();
  out_ += '"';
  out_ += key;
  out_ += "\":";
}

JsonLine& JsonLine::text(std::string_view key, std::string_view value) {
  begin(key);
  append_json_string(out_, value);
  return *this;
}

JsonLine& JsonLine::number(std::string_view key, std::uint64_t value) {
  begin(key);
  append_number(out_, value);
  return *this;
}

JsonLine& JsonLine::signed_number(std::string_view key, std::int64_t value) {
  begin(key);
  append_number(out_, value);
  return *this;
}

JsonLine& JsonLine::boolean(std::string_view key, bool value) {
  begin(key);
  out_ += value ? "true" : "false";
  return *this;
}

JsonLine& JsonLine::null(std::string_view key) {
  begin(key);
  out_ += "null";
  return *this;
}

JsonLine& JsonLine::time(std::string_view key, std::chrono::system_clock::time_point value) {
  begin(key);
  out_ += '"';
  append_rfc3339(out_, value);
  out_ += '"';
  return *this;
}

JsonLine& JsonLine::begin_object(std::string_view key) {
  begin(key);
  out_ += '{';
  return *this;
}

JsonLine& JsonLine::end_object() {
  assert(!in_array_);
  out_ += '}';
  return *this;
}

JsonLine& JsonLine::begin_array(std::string_view key) {
  begin(key);
  out_ += '[';
  in_array_ = true;
  return *this;
}

JsonLine& JsonLine::item(std::string_view value) {
  assert(in_array_);
  comma();
  append_json_string(out_, value);
  return *this;
}

JsonLine& JsonLine::end_array() {
  assert(in_array_);
  in_array_ = false;
  out_ += ']';
  return *this;
}

}  // namespace trawl
