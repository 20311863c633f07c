// SipHash-c-d with 128 bits of output, after Aumasson and Bernstein, "SipHash: a fast short-input
// PRF" (2012), section 2, and the 128-bit variant of the authors' reference implementation (which
// differs by the constants 0xee and 0xdd). c and d are the rounds per word and at the end.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "trawl/fingerprint.h"

namespace trawl {

template <int kCompressionRounds, int kFinalRounds>
class SipHash128 {
 public:
  SipHash128(std::uint64_t k0, std::uint64_t k1)
      : v0_(k0 ^ 0x736f6d6570736575),
        v1_(k1 ^ 0x646f72616e646f6d ^ 0xee),
        v2_(k0 ^ 0x6c7967656e657261),
        v3_(k1 ^ 0x7465646279746573) {}

  // Returns the first eight bytes of the output, read as a little-endian number, as `low`.
  Fingerprint operator()(std::string_view bytes) {
    const char* p = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= 8; p += 8, left -= 8) {
      std::uint64_t word;
      std::memcpy(&word, p, 8);
      absorb(word);
    }
    std::uint64_t last = static_cast<std::uint64_t>(bytes.size()) << 56;
    for (std::size_t i = 0; i < left; ++i) {
      last |= static_cast<std::uint64_t>(static_cast<unsigned char>(p[i])) << (8 * i);
    }
    absorb(last);
    v2_ ^= 0xee;
    rounds(kFinalRounds);
    const std::uint64_t low = v0_ ^ v1_ ^ v2_ ^ v3_;
    v1_ ^= 0xdd;
    rounds(kFinalRounds);
    return {.high = v0_ ^ v1_ ^ v2_ ^ v3_, .low = low};
  }

 private:
  void absorb(std::uint64_t word) {
    v3_ ^= word;
    rounds(kCompressionRounds);
    v0_ ^= word;
  }

  void rounds(int n) {
    for (int i = 0; i < n; ++i) {
      v0_ += v1_;
      v1_ = std::rotl(v1_, 13) ^ v0_;
      v0_ = std::rotl(v0_, 32);
      v2_ += v3_;
      v3_ = std::rotl(v3_, 16) ^ v2_;
      v0_ += v3_;
      v3_ = std::rotl(v3_, 21) ^ v0_;
      v2_ += v1_;
      v1_ = std::rotl(v1_, 17) ^ v2_;
      v2_ = std::rotl(v2_, 32);
    }
  }

  std::uint64_t v0_, v1_, v2_, v3_;
};

}  // namespace trawl
