// SipHash-c-d with 128 bits of output, after Aumasson and Bernstein, "SipHash: a fast short-input
// PRF" (2012), section 2, and the 128-bit variant of the authors' reference implementation (which
// differs by the constants 0xee and 0xdd). c and d are the rounds per word and at the end.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "trawl/fingerprint.h"

#include "base/little_endian.h"

namespace trawl {

// Four words and the permutation of them that SipHash is made of.
struct SipState {
  std::uint64_t v0, v1, v2, v3;

  void round() noexcept {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }

  template <int kRounds>
  void rounds() noexcept {
    for (int i = 0; i < kRounds; ++i)
      round();
  }
};

template <int kCompressionRounds, int kFinalRounds>
class SipHash128 {
 public:
  SipHash128(std::uint64_t k0, std::uint64_t k1) noexcept
      : start_{k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d ^ 0xee, k0 ^ 0x6c7967656e657261,
               k1 ^ 0x7465646279746573} {}

  // Returns the first eight bytes of the output, read as a little-endian number, as `low`.
  Fingerprint operator()(std::string_view bytes) const noexcept {
    SipState state = start_;
    const char* p = bytes.data();
    const char* const last_word = p + bytes.size() / 8 * 8;
    for (; p != last_word; p += 8)
      absorb(state, load_le64(p));
    absorb(state, last_bytes(bytes) | static_cast<std::uint64_t>(bytes.size()) << 56);
    state.v2 ^= 0xee;
    state.rounds<kFinalRounds>();
    const std::uint64_t low = state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
    state.v1 ^= 0xdd;
    state.rounds<kFinalRounds>();
    return {.high = state.v0 ^ state.v1 ^ state.v2 ^ state.v3, .low = low};
  }

 private:
  static void absorb(SipState& state, std::uint64_t word) noexcept {
    state.v3 ^= word;
    state.rounds<kCompressionRounds>();
    state.v0 ^= word;
  }

  // The up to seven bytes that fill no word.
  static std::uint64_t last_bytes(std::string_view bytes) noexcept {
    const std::size_t left = bytes.size() % 8;
    if (left == 0) return 0;
    if (bytes.size() > 8) return load_le64(bytes.data() + bytes.size() - 8) >> (64 - 8 * left);
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < left; ++i)
      word |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    return word;
  }

  SipState start_;
};

}  // namespace trawl
