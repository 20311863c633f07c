// UrlByteMasks with the vector instructions of x86-64 processors.
#pragma once

#if defined(__x86_64__)

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <immintrin.h>

#include "url/url_byte_masks.h"

// The instruction sets of the functions for one kind of processor.
#define TRAWL_URL_AVX2 "avx2,bmi2"
#define TRAWL_URL_AVX512 "avx512bw,avx512vbmi,bmi2"

namespace trawl {

namespace url_byte_masks_detail {

template <class Word>
Word load_word(const char* start) {
  Word word;
  std::memcpy(&word, start, sizeof(word));
  return word;
}

// Loads `length` < 16 bytes, followed by zeros, with overlapping loads.
inline __m128i load_below_16(const char* start, std::size_t length) {
  const char* const end = start + length;
  if (length >= 8) {
    const auto low = load_word<std::uint64_t>(start);
    const auto high = load_word<std::uint64_t>(end - 8) >> (8 * (15 - length)) >> 8;
    return _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low));
  }
  std::uint64_t low = 0;
  if (length >= 4) {
    low = load_word<std::uint32_t>(start) |
          (std::uint64_t{load_word<std::uint32_t>(end - 4)} << (8 * (length - 4)));
  } else if (length > 0) {
    const auto byte = [start](std::size_t i) {
      return std::uint64_t{static_cast<unsigned char>(start[i])} << (8 * i);
    };
    low = byte(0) | byte(length / 2) | byte(length - 1);
  }
  return _mm_cvtsi64_si128(static_cast<long long>(low));
}

inline __m128i equal(__m128i bytes, char byte) {
  return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte));
}

inline __m128i in_range(__m128i bytes, char first, char last) {
  const __m128i offset = _mm_sub_epi8(bytes, _mm_set1_epi8(first));
  const __m128i most = _mm_set1_epi8(static_cast<char>(last - first));
  return _mm_cmpeq_epi8(_mm_min_epu8(offset, most), offset);
}

inline __m128i any(__m128i a, __m128i b) {
  return _mm_or_si128(a, b);
}

inline __m128i plain_in_host(__m128i bytes) {
  // '-', '.', '/' and the digits are adjacent.
  const __m128i digits = _mm_andnot_si128(equal(bytes, '/'), in_range(bytes, '-', '9'));
  return any(any(digits, in_range(bytes, 'a', 'z')), equal(bytes, '_'));
}

inline __m128i special(__m128i bytes) {
  const __m128i with_bit_1 = any(bytes, _mm_set1_epi8(2));
  const __m128i with_bit_2 = any(bytes, _mm_set1_epi8(4));
  // Compares are signed: bytes from 0x80 are below all others.
  __m128i found = _mm_cmplt_epi8(bytes, _mm_set1_epi8(' ' + 1));
  found = any(found, any(equal(with_bit_2, '\''), equal(bytes, '"')));      // # and '
  found = any(found, any(equal(with_bit_1, '>'), equal(with_bit_1, '^')));  // <, >; backslash, ^
  found = any(found, any(equal(with_bit_1, 0x7F), equal(bytes, '{')));      // } DEL
  found = any(found, any(equal(bytes, ':'), equal(bytes, '?')));
  return any(found, any(equal(bytes, '%'), equal(bytes, '`')));
}

[[gnu::always_inline]] inline UrlByteMasks masks_of_16(__m128i bytes) {
  const auto bits = [](__m128i lanes) {
    return std::uint64_t{static_cast<unsigned>(_mm_movemask_epi8(lanes))};
  };
  return {.outside_host = bits(plain_in_host(bytes)) ^ 0xFFFF,
          .special = bits(special(bytes)),
          .slash = bits(equal(bytes, '/')),
          .dot = bits(equal(bytes, '.'))};
}

}  // namespace url_byte_masks_detail

// For every x86-64 processor.
struct Sse2Processor {
  static UrlByteMasks masks(const char* start, std::size_t length) {
    using namespace url_byte_masks_detail;
    const std::uint64_t outside = ~low_bits(length);
    if (length < 16) {
      UrlByteMasks masks = masks_of_16(load_below_16(start, length));
      masks.outside_host |= outside;
      masks.special &= ~outside;
      return masks;
    }
    UrlByteMasks masks{.outside_host = outside, .special = 0, .slash = 0, .dot = 0};
    const std::size_t last = length - 16;
    for (std::size_t offset = 0;; offset += 16) {
      // The last block may overlap the previous one.
      if (offset > last) offset = last;
      const auto* const block = reinterpret_cast<const __m128i*>(start + offset);
      const UrlByteMasks found = masks_of_16(_mm_loadu_si128(block));
      masks.outside_host |= found.outside_host << offset;
      masks.special |= found.special << offset;
      masks.slash |= found.slash << offset;
      masks.dot |= found.dot << offset;
      if (offset == last) return masks;
    }
  }
};

namespace url_byte_masks_detail {

// A set of ASCII bytes by half bytes: a byte is in it if bits_of_low[low half] has the bit of its
// high half. _mm256_shuffle_epi8() does the lookup, and yields 0 for bytes from 0x80.
struct alignas(16) NibbleSet {
  template <class Contains>
  explicit constexpr NibbleSet(Contains contains) {
    for (unsigned byte = 0; byte < 0x80; ++byte) {
      if (!contains(static_cast<unsigned char>(byte))) continue;
      bits_of_low[byte & 15] =
          static_cast<std::uint8_t>(bits_of_low[byte & 15] | 1u << (byte >> 4));
    }
  }
  std::array<std::uint8_t, 16> bits_of_low{};
};
inline constexpr NibbleSet kInHostNibbles(is_plain_in_host);
inline constexpr NibbleSet kOrdinaryNibbles([](unsigned char byte) { return !is_special(byte); });
alignas(16) inline constexpr std::array<std::uint8_t, 16> kBitOfHigh = {1,  2,  4,  8,
                                                                        16, 32, 64, 128};

// The 16 bytes from kMoveDown[n] are the indices that move a vector down by n bytes: 0x80 gives 0.
alignas(32) inline constexpr std::array<std::uint8_t, 32> kMoveDown = [] {
  std::array<std::uint8_t, 32> indices{};
  for (unsigned i = 0; i < indices.size(); ++i)
    indices[i] = static_cast<std::uint8_t>(i < 16 ? i : 0x80);
  return indices;
}();

[[gnu::target(TRAWL_URL_AVX2), gnu::always_inline]] inline __m256i load_below_32(
    const char* start, std::size_t length) {
  if (length < 16) return _mm256_zextsi128_si256(load_below_16(start, length));
  const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(start));
  const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(start + length - 16));
  const auto* const down = reinterpret_cast<const __m128i*>(kMoveDown.data() + (32 - length));
  return _mm256_set_m128i(_mm_shuffle_epi8(high, _mm_loadu_si128(down)), low);
}

[[gnu::target(TRAWL_URL_AVX2), gnu::always_inline]] inline __m256i load_32(const char* start) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(start));
}

// The same 16 bytes in both halves.
[[gnu::target(TRAWL_URL_AVX2), gnu::always_inline]] inline __m256i load_twice(const void* start) {
  return _mm256_broadcastsi128_si256(_mm_load_si128(static_cast<const __m128i*>(start)));
}

// The bits of the non-zero lanes, which must be all ones.
[[gnu::target(TRAWL_URL_AVX2), gnu::always_inline]] inline std::uint64_t bits_of(__m256i lanes) {
  return static_cast<unsigned>(_mm256_movemask_epi8(lanes));
}

// `bit_of_high`: for each of `bytes` the bit of its high half.
[[gnu::target(TRAWL_URL_AVX2), gnu::always_inline]] inline std::uint64_t bits_outside(
    const NibbleSet& set, __m256i bytes, __m256i bit_of_high) {
  const __m256i bits = _mm256_shuffle_epi8(load_twice(set.bits_of_low.data()), bytes);
  return bits_of(_mm256_cmpeq_epi8(_mm256_and_si256(bits, bit_of_high), _mm256_setzero_si256()));
}

[[gnu::target(TRAWL_URL_AVX2), gnu::always_inline]] inline UrlByteMasks masks_of_32(__m256i bytes) {
  const __m256i high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(15));
  const __m256i bit_of_high = _mm256_shuffle_epi8(load_twice(kBitOfHigh.data()), high);
  return {.outside_host = bits_outside(kInHostNibbles, bytes, bit_of_high),
          .special = bits_outside(kOrdinaryNibbles, bytes, bit_of_high),
          .slash = bits_of(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('/'))),
          .dot = bits_of(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('.')))};
}

}  // namespace url_byte_masks_detail

// For processors with AVX2.
struct Avx2Processor {
  [[gnu::target(TRAWL_URL_AVX2)]] static UrlByteMasks masks(const char* start, std::size_t length) {
    using namespace url_byte_masks_detail;
    if (length >= 32) {
      // The second block may overlap the first one.
      const std::size_t shift = length - 32;
      const UrlByteMasks first = masks_of_32(load_32(start));
      const UrlByteMasks second = masks_of_32(load_32(start + shift));
      const std::uint64_t outside = ~_bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(length));
      return {.outside_host = first.outside_host | (second.outside_host << shift) | outside,
              .special = first.special | (second.special << shift),
              .slash = first.slash | (second.slash << shift),
              .dot = first.dot | (second.dot << shift)};
    }
    UrlByteMasks masks = masks_of_32(load_below_32(start, length));
    const std::uint64_t inside = _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(length));
    masks.outside_host |= ~inside;
    masks.special &= inside;
    return masks;
  }

  static bool runs_here() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
  }
};

struct Avx512Processor {
  [[gnu::target(TRAWL_URL_AVX512)]] static UrlByteMasks masks(const char* start,
                                                              std::size_t length) {
    using namespace url_byte_masks_detail;
    const std::uint64_t inside = _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(length));
    const __m512i bytes = _mm512_maskz_loadu_epi8(inside, start);
    // Looks up ASCII bytes in the table; all others are special and not plain in a host.
    const __m512i kinds = _mm512_permutex2var_epi8(_mm512_load_si512(kKinds.data()), bytes,
                                                   _mm512_load_si512(kKinds.data() + 64));
    const std::uint64_t beyond_ascii = _mm512_movepi8_mask(bytes);
    const __m512i second = _mm512_add_epi8(kinds, kinds);
    const __m512i third = _mm512_add_epi8(second, second);
    const __m512i fourth = _mm512_add_epi8(third, third);
    return {.outside_host = ~_mm512_movepi8_mask(kinds) | beyond_ascii,
            .special = (_mm512_movepi8_mask(second) | beyond_ascii) & inside,
            .slash = _mm512_movepi8_mask(third) & ~beyond_ascii,
            .dot = _mm512_movepi8_mask(fourth) & ~beyond_ascii};
  }

  static bool runs_here() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("bmi2");
  }
};

}  // namespace trawl

#endif
