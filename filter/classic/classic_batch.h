// The operations of a classic filter on its bits, many keys at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "trawl/fingerprint.h"

namespace trawl {

// m bits and the number of those a key has.
struct ClassicBits {
  std::atomic<std::uint64_t>* words;
  std::uint64_t bits;
  unsigned hashes;  // at most kMaxClassicHashes

  static constexpr std::uint64_t mask_of(std::uint64_t place) noexcept {
    return std::uint64_t{1} << (place % 64);
  }
  bool test(std::uint64_t place) const noexcept {
    // acquire: pairs with the release in test_and_set(), so that whoever sees a key's bit also sees
    // the bits that its inserter set before.
    return (words[place / 64].load(std::memory_order_acquire) & mask_of(place)) != 0;
  }
  bool test_and_set(std::uint64_t place) noexcept {
    // release: publishes the bits of the key that were set before; acquire: orders this RMW after
    // the ones it finds. Pairs with the acquire loads and with the other RMWs.
    const std::uint64_t mask = mask_of(place);
    return (words[place / 64].fetch_or(mask, std::memory_order_acq_rel) & mask) != 0;
  }
};

// answers[i] tells whether keys[i] was new, or was found; returns how many were.
std::size_t insert_classic(ClassicBits bits, std::span<const Fingerprint> keys,
                           bool* answers) noexcept;
std::size_t find_classic(ClassicBits bits, std::span<const Fingerprint> keys,
                         bool* answers) noexcept;

}  // namespace trawl
