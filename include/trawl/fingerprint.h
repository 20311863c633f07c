// Fingerprint and KeyedHash: 128 bits that stand for a key in the filters and the store.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace trawl {

struct ExpandedKey;

// 128 bits of a keyed hash. A fingerprint can stand for its key: the probability that two given
// keys share one is below 2^-125 (filter/hash/keyed_hash.cc).
struct Fingerprint {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend auto operator<=>(const Fingerprint&, const Fingerprint&) = default;
};

// The keyed hash behind fingerprints: without the key nobody can choose inputs that collide or that
// fill chosen bits of a filter. The universal hash NH (Black, Halevi, Krawczyk, Krovetz, Rogaway:
// "UMAC", 1999) twice over, finished by a keyed pseudo-random function made of SipHash's rounds;
// filter/hash/keyed_hash.cc has the construction, its bound and its sources. The same on every
// machine. Any length of input, in linear time.
//
// A copy costs a reference count: copies share one expanded key. Immutable; thread-safe.
class KeyedHash {
 public:
  using Key = std::array<std::uint8_t, 16>;

  // Names the function in files. 1 was SipHash-1-3 with 128 bits of output; 2 is this one. Never
  // compare values of different algorithms or keys.
  static constexpr std::uint32_t kAlgorithm = 2;

  // A key from the operating system's random generator.
  static KeyedHash random();
  // A key derived from a seed, the same on every machine: for tests and reproducible runs.
  static KeyedHash from_seed(std::uint64_t seed);
  // Expands the key, in about a microsecond; allocates 1.1 kB, which copies share.
  static KeyedHash from_key(const Key& key);

  // Moving copies, because a moved-from hash would have no key.
  KeyedHash(const KeyedHash&) = default;
  KeyedHash& operator=(const KeyedHash&) = default;

  Fingerprint operator()(std::string_view bytes) const noexcept;
  Key key() const noexcept;

  // Equal if the keys are equal, and so the functions.
  friend bool operator==(const KeyedHash& a, const KeyedHash& b) noexcept {
    return a.expanded_ == b.expanded_ || a.key() == b.key();
  }

 private:
  explicit KeyedHash(std::shared_ptr<const ExpandedKey> expanded)
      : expanded_(std::move(expanded)) {}

  std::shared_ptr<const ExpandedKey> expanded_;
};

}  // namespace trawl
