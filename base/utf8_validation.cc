#include "base/utf8_validation.h"

#include <cstddef>

#include "base/ascii_prefix.h"
#include "base/utf8.h"
#include "base/utf8_validation_x86.h"

namespace trawl {

std::size_t utf8_sequence_length(std::string_view bytes) {
  const Utf8Sequence sequence = utf8_sequence_at(bytes);
  return sequence.valid ? sequence.length : 0;
}

std::size_t unfinished_utf8_length(std::string_view bytes) {
  constexpr std::size_t kLongest = 4;
  for (std::size_t length = 1; length < kLongest && length <= bytes.size(); ++length) {
    const std::string_view end = bytes.substr(bytes.size() - length);
    const auto first = static_cast<unsigned char>(end.front());
    if ((first & 0xC0) == 0x80) continue;
    const Utf8Sequence sequence = utf8_sequence_at(end);
    const bool is_lead = first >= 0xC2 && first <= 0xF4;
    return is_lead && !sequence.valid && sequence.length == length ? length : 0;
  }
  return 0;
}

bool is_utf8_portable(std::string_view bytes) {
  while (true) {
    bytes.remove_prefix(ascii_prefix_length(bytes));
    // Non-ASCII letters come in words, so do not search for ASCII after each.
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
