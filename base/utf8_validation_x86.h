// is_utf8() by the vector instructions of x86-64 processors, after Keiser and Lemire, "Validating
// UTF-8 In Less Than One Instruction Per Byte" (2021): three of the four half bytes of two adjacent
// bytes are each looked up in a table, which gives the set of mistakes possible with that half
// byte; a mistake in all three sets is real.
#pragma once

#if defined(__x86_64__)

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <immintrin.h>

#define TRAWL_UTF8_AVX2 __attribute__((target("avx2")))

namespace trawl {

namespace utf8_detail {

// Mistakes of two adjacent bytes. kTwoContinuations is a mistake only if the second is not the
// third or fourth byte of a sequence.
enum Mistake : std::uint8_t {
  kCutShort = 1,            // a lead byte, then no continuation byte
  kStray = 2,               // ASCII, then a continuation byte
  kOverlong3 = 4,           // E0 80..9F
  kAboveLast = 8,           // F4 90.., F5.. 90..
  kSurrogate = 16,          // ED A0..
  kOverlong2 = 32,          // C0, C1
  kOverlong4OrAbove = 64,   // F0 80..8F, F5.. 80..8F
  kTwoContinuations = 128,  // 80..BF twice
};

using HalfByteTable = std::array<std::uint8_t, 16>;

constexpr HalfByteTable high_half_of_first() {
  HalfByteTable table{};
  for (std::size_t half = 0; half < 8; ++half)
    table[half] = kStray;
  for (std::size_t half = 8; half < 12; ++half)
    table[half] = kTwoContinuations;
  table[0xC] = kCutShort | kOverlong2;
  table[0xD] = kCutShort;
  table[0xE] = kCutShort | kOverlong3 | kSurrogate;
  table[0xF] = kCutShort | kAboveLast | kOverlong4OrAbove;
  return table;
}

constexpr HalfByteTable low_half_of_first() {
  HalfByteTable table{};
  for (std::size_t half = 0; half < 16; ++half) {
    unsigned mistakes = kCutShort | kStray | kTwoContinuations;
    if (half == 0x0) mistakes |= kOverlong3 | kOverlong4OrAbove;
    if (half <= 0x1) mistakes |= kOverlong2;
    if (half >= 0x4) mistakes |= kAboveLast;
    if (half >= 0x5) mistakes |= kOverlong4OrAbove;
    if (half == 0xD) mistakes |= kSurrogate;
    table[half] = static_cast<std::uint8_t>(mistakes);
  }
  return table;
}

constexpr HalfByteTable high_half_of_second() {
  HalfByteTable table{};
  for (std::size_t half = 0; half < 16; ++half) {
    if (half < 8 || half > 11) {
      table[half] = kCutShort;
      continue;
    }
    unsigned mistakes = kStray | kOverlong2 | kTwoContinuations;
    mistakes |= half < 0xA ? kOverlong3 : kSurrogate;
    mistakes |= half == 0x8 ? kOverlong4OrAbove : kAboveLast;
    table[half] = static_cast<std::uint8_t>(mistakes);
  }
  return table;
}

inline constexpr HalfByteTable kHighHalfOfFirst = high_half_of_first();
inline constexpr HalfByteTable kLowHalfOfFirst = low_half_of_first();
inline constexpr HalfByteTable kHighHalfOfSecond = high_half_of_second();

TRAWL_UTF8_AVX2 inline __m256i load_table(const HalfByteTable& table) {
  return _mm256_broadcastsi128_si256(
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(table.data())));
}

TRAWL_UTF8_AVX2 inline __m256i load(const char* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

TRAWL_UTF8_AVX2 inline __m256i high_half(__m256i bytes) {
  return _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0F));
}

// The bytes at `Distance` before each of `bytes`; `across` has the last 16 bytes before them and
// their first 16.
template <int Distance>
TRAWL_UTF8_AVX2 inline __m256i bytes_before(__m256i bytes, __m256i across) {
  return _mm256_alignr_epi8(bytes, across, 16 - Distance);
}

// Non-zero at mistakes in the 32 `bytes`, which follow the 32 of `previous`.
TRAWL_UTF8_AVX2 inline __m256i mistakes_in(__m256i bytes, __m256i previous) {
  const __m256i across = _mm256_permute2x128_si256(previous, bytes, 0x21);
  const __m256i first = bytes_before<1>(bytes, across);
  const __m256i low = _mm256_and_si256(first, _mm256_set1_epi8(0x0F));
  const __m256i pairs = _mm256_and_si256(
      _mm256_and_si256(_mm256_shuffle_epi8(load_table(kHighHalfOfFirst), high_half(first)),
                       _mm256_shuffle_epi8(load_table(kLowHalfOfFirst), low)),
      _mm256_shuffle_epi8(load_table(kHighHalfOfSecond), high_half(bytes)));
  // The top bit remains if a lead byte of a sequence of three or four is two bytes before, or of
  // four is three bytes before.
  const __m256i third =
      _mm256_subs_epu8(bytes_before<2>(bytes, across), _mm256_set1_epi8(0xE0 - 0x80));
  const __m256i fourth = _mm256_subs_epu8(bytes_before<3>(bytes, across),
                                          _mm256_set1_epi8(static_cast<char>(0xF0 - 0x80)));
  const __m256i goes_on =
      _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8(static_cast<char>(0x80)));
  return _mm256_xor_si256(pairs, goes_on);
}

}  // namespace utf8_detail

TRAWL_UTF8_AVX2 inline bool is_utf8_avx2(std::string_view bytes) {
  using namespace utf8_detail;
  __m256i previous = _mm256_setzero_si256();
  __m256i mistakes = _mm256_setzero_si256();
  bool previous_ascii = true;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 128; left -= 128, at += 128) {
    const __m256i a = load(at), b = load(at + 32), c = load(at + 64), d = load(at + 96);
    const bool ascii =
        _mm256_movemask_epi8(_mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d))) == 0;
    if (!ascii || !previous_ascii) {
      mistakes = _mm256_or_si256(mistakes, mistakes_in(a, previous));
      mistakes = _mm256_or_si256(mistakes, mistakes_in(b, a));
      mistakes = _mm256_or_si256(mistakes, mistakes_in(c, b));
      mistakes = _mm256_or_si256(mistakes, mistakes_in(d, c));
      if (_mm256_testz_si256(mistakes, mistakes) == 0) return false;
    }
    previous = d;
    previous_ascii = ascii;
  }
  // Zeros after the end reveal a truncated sequence.
  std::array<char, 160> rest{};
  if (left > 0) std::memcpy(rest.data(), at, left);
  for (std::size_t i = 0; i < rest.size(); i += 32) {
    const __m256i next = load(rest.data() + i);
    mistakes = _mm256_or_si256(mistakes, mistakes_in(next, previous));
    previous = next;
  }
  return _mm256_testz_si256(mistakes, mistakes) != 0;
}

}  // namespace trawl

#endif  // defined(__x86_64__)
