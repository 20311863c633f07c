// Fingerprint and KeyedHash: 128 bits that stand for a key in the filters and the store.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string_view>

namespace trawl {

// 128 bits of a keyed hash. A fingerprint can stand for its key: among n keys two share one with
// a probability of about n^2 / 2^129.
struct Fingerprint {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend auto operator<=>(const Fingerprint&, const Fingerprint&) = default;
};

// The keyed hash behind fingerprints: SipHash-1-3 with 128 bits of output (Aumasson, Bernstein:
// "SipHash: a fast short-input PRF", 2012). Without the key, nobody can choose inputs that collide
// or that fill chosen bits of a filter. The same on every machine. Any length of input, in linear
// time. Immutable; thread-safe.
class KeyedHash {
 public:
  using Key = std::array<std::uint8_t, 16>;

  // Names the function in files. 2 was a hash of Trawl's own, in builds before the first release.
  // Never compare values of different algorithms or keys.
  static constexpr std::uint32_t kAlgorithm = 1;

  // A key from the operating system's random generator.
  static KeyedHash random();
  // A key derived from a seed, the same on every machine: for tests and reproducible runs.
  static KeyedHash from_seed(std::uint64_t seed) noexcept;
  static KeyedHash from_key(const Key& key) noexcept;

  Fingerprint operator()(std::string_view bytes) const noexcept;
  Key key() const noexcept;

  // Equal if the keys are equal, and so the functions.
  friend bool operator==(const KeyedHash&, const KeyedHash&) = default;

 private:
  KeyedHash(std::uint64_t k0, std::uint64_t k1) noexcept : k0_(k0), k1_(k1) {}

  std::uint64_t k0_;  // the key's first 8 bytes, as a little-endian number
  std::uint64_t k1_;  // the other 8
};

}  // namespace trawl
