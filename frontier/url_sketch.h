// UrlSketch: where in 64 bytes of a URL there is something to look at.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace trawl {

// One bit a byte, the first byte's lowest.
struct UrlSketch {
  std::uint64_t outside_host;  // not is_plain_in_host(), and all bits behind the last byte
  std::uint64_t special;       // is_special()
  std::uint64_t slash;
  std::uint64_t dot;

  static constexpr std::size_t kBytes = 64;

  friend bool operator==(const UrlSketch&, const UrlSketch&) = default;
};

// What host names are made of in all but odd cases.
constexpr bool is_plain_in_host(unsigned char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '.' ||
         byte == '-' || byte == '_';
}

// All but '/' and '.' that has a meaning of its own behind the host, or is escaped or stripped
// there.
constexpr bool is_special(unsigned char byte) {
  return byte <= ' ' || byte >= 0x7F || byte == '"' || byte == '#' || byte == '%' || byte == '\'' ||
         byte == ':' || byte == '<' || byte == '>' || byte == '?' || byte == '\\' || byte == '^' ||
         byte == '`' || byte == '{' || byte == '}';
}

namespace url_sketch_detail {

constexpr std::uint64_t low_bits(std::size_t count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

// The highest bits of a byte's kinds, since a vector's compares yield those.
inline constexpr std::uint8_t kInHost = 0x80;
inline constexpr std::uint8_t kSpecial = 0x40;
inline constexpr std::uint8_t kSlash = 0x20;
inline constexpr std::uint8_t kDot = 0x10;

alignas(64) inline constexpr std::array<std::uint8_t, 256> kKinds = [] {
  std::array<std::uint8_t, 256> kinds{};
  for (unsigned i = 0; i < kinds.size(); ++i) {
    const auto byte = static_cast<unsigned char>(i);
    if (is_plain_in_host(byte)) kinds[i] |= kInHost;
    if (is_special(byte)) kinds[i] |= kSpecial;
  }
  kinds['/'] |= kSlash;
  kinds['.'] |= kDot;
  return kinds;
}();

}  // namespace url_sketch_detail

// The sketch of `length` <= 64 bytes at `start`; reads no other byte. There is one for every
// processor, one for every x86-64, and one for those with has_avx512(); all give the same. Inline,
// so that a sketch stays in registers.
inline UrlSketch sketch_url_portable(const char* start, std::size_t length) {
  using namespace url_sketch_detail;
  UrlSketch sketch{.outside_host = ~low_bits(length), .special = 0, .slash = 0, .dot = 0};
  for (std::size_t i = 0; i < length; ++i) {
    const unsigned kinds = kKinds[static_cast<unsigned char>(start[i])];
    const auto bit = [&](unsigned kind) { return std::uint64_t{(kinds & kind) != 0} << i; };
    sketch.outside_host |= bit(kInHost) ^ (std::uint64_t{1} << i);
    sketch.special |= bit(kSpecial);
    sketch.slash |= bit(kSlash);
    sketch.dot |= bit(kDot);
  }
  return sketch;
}

#if defined(__x86_64__)

// What the functions for AVX-512 are compiled for, whatever the rest is.
#define TRAWL_URL_AVX512 "avx512bw,avx512vbmi,bmi2"

namespace url_sketch_detail {

inline constexpr std::size_t kBlock = sizeof(__m128i);

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
  // '-', '.', '/' and the digits are neighbours.
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

}  // namespace url_sketch_detail

inline UrlSketch sketch_url_sse2(const char* start, std::size_t length) {
  using namespace url_sketch_detail;
  std::uint64_t in_host = 0;
  UrlSketch sketch{};
  const auto add_block = [&](const char* block, std::size_t offset) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block));
    const auto bits = [offset](__m128i lanes) {
      return static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(lanes))) << offset;
    };
    in_host |= bits(plain_in_host(bytes));
    sketch.special |= bits(special(bytes));
    sketch.slash |= bits(equal(bytes, '/'));
    sketch.dot |= bits(equal(bytes, '.'));
  };
  std::array<char, kBlock> copy{};
  const char* last = copy.data();
  std::size_t last_offset = 0;
  if (length >= kBlock) {
    // The last block may overlap the one before it.
    last_offset = length - kBlock;
    last = start + last_offset;
    for (std::size_t offset = 0; offset < last_offset; offset += kBlock)
      add_block(start + offset, offset);
  } else if (length > 0) {
    std::memcpy(copy.data(), start, length);
  }
  add_block(last, last_offset);
  sketch.outside_host = ~in_host;
  sketch.special &= low_bits(length);
  return sketch;
}

[[gnu::target(TRAWL_URL_AVX512)]] inline UrlSketch sketch_url_avx512(const char* start,
                                                                     std::size_t length) {
  using namespace url_sketch_detail;
  const std::uint64_t inside = _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(length));
  const __m512i bytes = _mm512_maskz_loadu_epi8(inside, start);
  // A lookup in the table's half for ASCII; all bytes above it are special and in no host.
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

inline bool has_avx512() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi") &&
         __builtin_cpu_supports("bmi2");
}

#endif

// What url_fast_path.cc is compiled for, once each.
struct AnyProcessor {
  static UrlSketch sketch(const char* start, std::size_t length) {
#if defined(__x86_64__)
    return sketch_url_sse2(start, length);
#else
    return sketch_url_portable(start, length);
#endif
  }
};

#if defined(__x86_64__)
struct Avx512Processor {
  [[gnu::target(TRAWL_URL_AVX512)]] static UrlSketch sketch(const char* start, std::size_t length) {
    return sketch_url_avx512(start, length);
  }
};
#endif

}  // namespace trawl
