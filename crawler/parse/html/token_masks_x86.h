// Computes TokenMasks with the vector instructions of x86-64 processors.
#pragma once

#if defined(__x86_64__)

#include <array>
#include <cstddef>
#include <cstdint>

#include <immintrin.h>

#include "crawler/parse/html/token_masks.h"

// The compilation targets of the functions for each processor type.
#define TRAWL_HTML_SSE2 "sse2"
#define TRAWL_HTML_AVX2 "avx2,bmi,bmi2"
#define TRAWL_HTML_AVX512 "avx512bw,bmi,bmi2"

namespace trawl {

// Each of these has kBytes; masks_of() and opens_in() (the positions of '<'), which read kBytes
// bytes at `start`; and runs_here().

// For every x86-64 processor.
struct Sse2Html {
  static constexpr std::size_t kBytes = 32;

  [[gnu::always_inline]] static __m128i load(const char* start) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(start));
  }
  [[gnu::always_inline]] static std::uint64_t bits(__m128i lanes) {
    return static_cast<unsigned>(_mm_movemask_epi8(lanes));
  }
  [[gnu::always_inline]] static __m128i equal(__m128i bytes, char byte) {
    return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte));
  }
  [[gnu::always_inline]] static __m128i ends_name(__m128i bytes) {
    // TAB to CR, except VT.
    const __m128i offset = _mm_sub_epi8(bytes, _mm_set1_epi8('\t'));
    const __m128i near = _mm_cmpeq_epi8(_mm_min_epu8(offset, _mm_set1_epi8(4)), offset);
    const __m128i space = _mm_andnot_si128(equal(bytes, '\v'), near);
    return _mm_or_si128(_mm_or_si128(space, equal(bytes, ' ')),
                        _mm_or_si128(equal(bytes, '/'), equal(bytes, '>')));
  }
  [[gnu::always_inline]] static TokenMasks masks_of(const char* start) {
    const __m128i low = load(start);
    const __m128i high = load(start + 16);
    const std::uint64_t ends = bits(ends_name(low)) | bits(ends_name(high)) << 16;
    const std::uint64_t equals = bits(equal(low, '=')) | bits(equal(high, '=')) << 16;
    return {.opens = bits(equal(low, '<')) | bits(equal(high, '<')) << 16,
            .ends_name = ends,
            .ends_attribute_name = ends | equals,
            .quote = bits(equal(low, '"')) | bits(equal(high, '"')) << 16};
  }
  [[gnu::always_inline]] static std::uint64_t opens_in(const char* start) {
    return bits(equal(load(start), '<')) | bits(equal(load(start + 16), '<')) << 16;
  }
  static bool runs_here() { return true; }
};

// Each byte that ends a name, at the index of its lower four bits, repeated four times: a byte ends
// a name if shuffling with it as index gives the byte itself. ' ' is at index 0, so NUL does not
// match.
alignas(64) inline constexpr std::array<char, 64> kNameEndsByLowHalf = [] {
  std::array<char, 64> ends{};
  for (std::size_t i = 0; i < ends.size(); i += 16) {
    for (const char byte : {' ', '\t', '\n', '\f', '\r', '>', '/'}) {
      ends[i + (static_cast<unsigned char>(byte) & 15)] = byte;
    }
  }
  return ends;
}();

struct Avx2Html {
  static constexpr std::size_t kBytes = 64;

  [[gnu::target(TRAWL_HTML_AVX2), gnu::always_inline]] static __m256i load(const char* start) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(start));
  }
  [[gnu::target(TRAWL_HTML_AVX2), gnu::always_inline]] static std::uint64_t equal(__m256i a,
                                                                                  __m256i b) {
    return static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, b)));
  }
  [[gnu::target(TRAWL_HTML_AVX2), gnu::always_inline]] static std::uint64_t equal(__m256i low,
                                                                                  __m256i high,
                                                                                  char byte) {
    const __m256i wanted = _mm256_set1_epi8(byte);
    return equal(low, wanted) | equal(high, wanted) << 32;
  }
  [[gnu::target(TRAWL_HTML_AVX2), gnu::always_inline]] static TokenMasks masks_of(
      const char* start) {
    const __m256i low = load(start);
    const __m256i high = load(start + 32);
    const __m256i ends = load(kNameEndsByLowHalf.data());
    const std::uint64_t ends_name = equal(_mm256_shuffle_epi8(ends, low), low) |
                                    equal(_mm256_shuffle_epi8(ends, high), high) << 32;
    return {.opens = equal(low, high, '<'),
            .ends_name = ends_name,
            .ends_attribute_name = ends_name | equal(low, high, '='),
            .quote = equal(low, high, '"')};
  }
  [[gnu::target(TRAWL_HTML_AVX2), gnu::always_inline]] static std::uint64_t opens_in(
      const char* start) {
    return equal(load(start), load(start + 32), '<');
  }
  static bool runs_here() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
  }
};

struct Avx512Html {
  static constexpr std::size_t kBytes = 64;

  [[gnu::target(TRAWL_HTML_AVX512), gnu::always_inline]] static __m512i load(const char* start) {
    return _mm512_loadu_si512(start);
  }
  [[gnu::target(TRAWL_HTML_AVX512), gnu::always_inline]] static std::uint64_t equal(__m512i bytes,
                                                                                    char byte) {
    return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte));
  }
  [[gnu::target(TRAWL_HTML_AVX512), gnu::always_inline]] static TokenMasks masks_of(
      const char* start) {
    const __m512i bytes = load(start);
    const __m512i ends = load(kNameEndsByLowHalf.data());
    const std::uint64_t ends_name = _mm512_cmpeq_epi8_mask(_mm512_shuffle_epi8(ends, bytes), bytes);
    return {.opens = equal(bytes, '<'),
            .ends_name = ends_name,
            .ends_attribute_name = ends_name | equal(bytes, '='),
            .quote = equal(bytes, '"')};
  }
  [[gnu::target(TRAWL_HTML_AVX512), gnu::always_inline]] static std::uint64_t opens_in(
      const char* start) {
    return equal(load(start), '<');
  }
  static bool runs_here() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
  }
};

}  // namespace trawl

#endif
