#include "base/utf8_validation.h"

#include <cstddef>

#include "base/ascii_prefix.h"
#include "base/utf8_validation_x86.h"

namespace trawl {

namespace {

constexpr std::size_t kLongest = 4;

// Of the sequence that begins with `lead`; 0 if none does.
constexpr std::size_t length_by(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

// Whether the bytes after the first are what it asks for, as far as there are any. The ranges are
// those of table 3-7 of the Unicode Standard.
constexpr bool go_on_well(std::string_view bytes) {
  const auto byte = [bytes](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (bytes.size() == 1) return true;
  const unsigned lead = byte(0);
  const unsigned lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < lowest || byte(1) > highest) return false;
  for (std::size_t i = 2; i < bytes.size(); ++i) {
    if ((byte(i) & 0xC0) != 0x80) return false;
  }
  return true;
}

}  // namespace

std::size_t utf8_sequence_length(std::string_view bytes) {
  const std::size_t length = length_by(static_cast<unsigned char>(bytes.front()));
  if (length <= 1) return length;
  return bytes.size() >= length && go_on_well(bytes.substr(0, length)) ? length : 0;
}

std::size_t unfinished_utf8_length(std::string_view bytes) {
  for (std::size_t length = 1; length < kLongest && length <= bytes.size(); ++length) {
    const std::string_view end = bytes.substr(bytes.size() - length);
    const auto first = static_cast<unsigned char>(end.front());
    if ((first & 0xC0) != 0x80) return length < length_by(first) && go_on_well(end) ? length : 0;
  }
  return 0;
}

bool is_utf8_portable(std::string_view bytes) {
  while (true) {
    bytes.remove_prefix(ascii_prefix_length(bytes));
    // Letters that are not ASCII come in words: no search for ASCII between them.
    do {
      if (bytes.empty()) return true;
      const std::size_t length = utf8_sequence_length(bytes);
      if (length == 0) return false;
      bytes.remove_prefix(length);
    } while (!bytes.empty() && static_cast<unsigned char>(bytes.front()) >= 0x80);
  }
}

bool is_utf8(std::string_view bytes) {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") > 0;
  if (has_avx2) return is_utf8_avx2(bytes);
#endif
  return is_utf8_portable(bytes);
}

}  // namespace trawl
