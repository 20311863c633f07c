#include "crawler/parse/html/character_references.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "base/ascii.h"
#include "base/utf8.h"
#include "crawler/parse/encoding/windows_1252.h"

namespace trawl {

namespace {

struct NamedReference {
  std::string_view name;
  char32_t first;
  char32_t second;   // 0: none
  bool may_be_open;  // valid without ';'
};

constexpr auto kNamed = std::to_array<NamedReference>({
#define N(name, code) {#name, code, 0, false},
#define L(name, code) {#name, code, 0, true},
#define P(name, first, second) {#name, first, second, false},
#include "crawler/parse/html/named_character_references.inc"
#undef N
#undef L
#undef P
});
constexpr std::size_t kLongestName = 31;
constexpr std::size_t kShortestName = 2;
constexpr std::size_t kLongestOpenName = 6;

constexpr std::uint32_t hash(std::string_view name) {
  std::uint32_t value = 0;
  for (const char byte : name)
    value = (value ^ static_cast<unsigned char>(byte)) * 0x9E3779B1u;
  return value ^ (value >> 15);
}

// A hash table with linear probing of indices into kNamed, from 1; 0 is an empty slot.
constexpr std::size_t kSlots = 8192;
constexpr std::array<std::uint16_t, kSlots> kIndex = [] {
  std::array<std::uint16_t, kSlots> index{};
  for (std::size_t i = 0; i < kNamed.size(); ++i) {
    std::size_t slot = hash(kNamed[i].name) % kSlots;
    while (index[slot] != 0)
      slot = (slot + 1) % kSlots;
    index[slot] = static_cast<std::uint16_t>(i + 1);
  }
  return index;
}();

const NamedReference* find_named(std::string_view name) {
  for (std::size_t slot = hash(name) % kSlots; kIndex[slot] != 0; slot = (slot + 1) % kSlots) {
    const NamedReference& found = kNamed[kIndex[slot] - 1u];
    if (found.name == name) return &found;
  }
  return nullptr;
}

// https://html.spec.whatwg.org/multipage/parsing.html#numeric-character-reference-end-state
char32_t meant_by(char32_t number) {
  if (number == 0 || number > 0x10FFFF || (number >= 0xD800 && number <= 0xDFFF)) return 0xFFFD;
  // C1 control codes are taken as windows-1252.
  return number <= 0xFF ? windows_1252_character(static_cast<unsigned char>(number)) : number;
}

// The following functions take the text after a '&', append the characters it stands for and return
// the length of the reference; for text that is not a reference they append nothing and return 0.

std::size_t decode_numeric(std::string_view text, std::string& out) {
  const bool hex = text.size() > 1 && (text[1] | 0x20) == 'x';
  const int base = hex ? 16 : 10;
  const std::size_t start = hex ? 2 : 1;
  char32_t number = 0;
  std::size_t i = start;
  for (; i < text.size(); ++i) {
    const int digit = hex_value(text[i]);
    if (digit < 0 || digit >= base) break;
    number = std::min<char32_t>(number * static_cast<char32_t>(base) + static_cast<char32_t>(digit),
                                0x110000);
  }
  if (i == start) return 0;
  append_utf8(meant_by(number), out);
  return i < text.size() && text[i] == ';' ? i + 1 : i;
}

// The longest name without a ';' that `run` begins with.
const NamedReference* find_open(std::string_view run) {
  for (std::size_t size = std::min(run.size(), kLongestOpenName); size >= kShortestName; --size) {
    const NamedReference* const found = find_named(run.substr(0, size));
    if (found != nullptr && found->may_be_open) return found;
  }
  return nullptr;
}

std::size_t decode_named(std::string_view text, ReferenceContext context, std::string& out) {
  std::size_t run = 0;
  while (run < text.size() && run <= kLongestName && is_ascii_alphanumeric(text[run]))
    ++run;
  if (run < kShortestName) return 0;
  const std::string_view name = text.substr(0, run);

  const bool closed = run < text.size() && text[run] == ';';
  const NamedReference* found = closed ? find_named(name) : nullptr;
  std::size_t length = run + 1;
  if (found == nullptr) {
    found = find_open(name);
    if (found == nullptr) return 0;
    length = found->name.size();
    // Keeps "?a=b&copy=1" unchanged.
    const bool goes_on =
        length < text.size() && (text[length] == '=' || is_ascii_alphanumeric(text[length]));
    if (context == ReferenceContext::kAttribute && goes_on) return 0;
  }
  append_utf8(found->first, out);
  if (found->second != 0) append_utf8(found->second, out);
  return length;
}

std::size_t decode_reference(std::string_view text, ReferenceContext context, std::string& out) {
  if (text.starts_with('#')) return decode_numeric(text, out);
  return decode_named(text, context, out);
}

constexpr bool is_decoded(char byte) {
  return byte == '&' || byte == '\0' || byte == '\r';
}

#if defined(__x86_64__)

// One bit per byte, the lowest for the first.
unsigned decoded_bytes(__m128i bytes) {
  const __m128i found = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('&')),
                                                  _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r'))),
                                     _mm_cmpeq_epi8(bytes, _mm_setzero_si128()));
  return static_cast<unsigned>(_mm_movemask_epi8(found));
}

// The position of the first byte of `raw` for which is_decoded() holds, or its size.
std::size_t find_decoded(std::string_view raw) {
  constexpr std::size_t kBlock = sizeof(__m128i);
  std::size_t i = 0;
  if (raw.size() >= kBlock) {
    const std::size_t last = raw.size() - kBlock;
    for (;; i += kBlock) {
      if (i > last) i = last;  // overlaps the previous block
      const auto* const block = reinterpret_cast<const __m128i*>(raw.data() + i);
      const unsigned found = decoded_bytes(_mm_loadu_si128(block));
      if (found != 0) return i + static_cast<std::size_t>(std::countr_zero(found));
      if (i == last) return raw.size();
    }
  }
  if (raw.size() >= kBlock / 2) {
    // The first half of a block and the last one, which may overlap.
    const std::size_t last = raw.size() - kBlock / 2;
    const auto load = [&raw](std::size_t at) {
      return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(raw.data() + at));
    };
    const unsigned found = decoded_bytes(_mm_unpacklo_epi64(load(0), load(last)));
    if (found == 0) return raw.size();
    i = static_cast<std::size_t>(std::countr_zero(found));
    return i < kBlock / 2 ? i : last + i - kBlock / 2;
  }
  while (i < raw.size() && !is_decoded(raw[i]))
    ++i;
  return i;
}

#else

std::size_t find_decoded(std::string_view raw) {
  std::size_t i = 0;
  while (i < raw.size() && !is_decoded(raw[i]))
    ++i;
  return i;
}

#endif

}  // namespace

NamedCharacters find_named_characters(std::string_view name) noexcept {
  const NamedReference* const found = find_named(name);
  return found == nullptr ? NamedCharacters{} : NamedCharacters{found->first, found->second};
}

bool needs_decoding(std::string_view raw) noexcept {
  return find_decoded(raw) != raw.size();
}

void decode_text(std::string_view raw, ReferenceContext context, std::string& out) {
  for (;;) {
    const std::size_t plain = find_decoded(raw);
    out.append(raw.substr(0, plain));
    if (plain == raw.size()) return;
    const char byte = raw[plain];
    raw.remove_prefix(plain + 1);
    if (byte == '\0') {
      out.append(kReplacementInUtf8);
    } else if (byte == '\r') {
      if (!raw.starts_with('\n')) out.push_back('\n');
    } else {
      const std::size_t length = decode_reference(raw, context, out);
      if (length == 0) out.push_back('&');
      raw.remove_prefix(length);
    }
  }
}

}  // namespace trawl
