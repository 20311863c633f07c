// Fingerprint and KeyedHash: 128 bits that stand for a key in the filters and the store.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace trawl {

// 128 bits of a keyed hash. Two different keys share one with probability 2^-128, so that a
// fingerprint may stand for its key.
struct Fingerprint {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend auto operator<=>(const Fingerprint&, const Fingerprint&) = default;
};

// SipHash-1-3 with 128 bits of output (Aumasson, Bernstein: "SipHash: a fast short-input PRF",
// 2012; the 128-bit variant of the authors' reference code): a pseudo-random function, so that
// who does not know the key cannot craft inputs that collide or that fill chosen filter bits.
// Immutable; thread-safe.
class KeyedHash {
 public:
  using Key = std::array<std::uint8_t, 16>;

  // A key from the operating system's random generator.
  static KeyedHash random();
  // A key derived from a seed, the same on every machine: for tests and reproducible runs.
  static KeyedHash from_seed(std::uint64_t seed);
  static KeyedHash from_key(const Key& key);

  Fingerprint operator()(std::string_view bytes) const noexcept;
  Key key() const noexcept;

 private:
  KeyedHash(std::uint64_t k0, std::uint64_t k1) : k0_(k0), k1_(k1) {}
  std::uint64_t k0_;
  std::uint64_t k1_;
};

}  // namespace trawl
