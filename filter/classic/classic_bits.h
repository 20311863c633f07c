// The operations of a classic filter on its bits, many keys at a time.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "trawl/fingerprint.h"

#include "filter/bits/stripe_locks.h"

namespace trawl {

// m bits, and the number of bits of a key.
struct ClassicBits {
  std::atomic<std::uint64_t>* words;
  std::uint64_t bits;
  unsigned hashes;          // at most kMaxClassicHashes
  StripeLocks::View locks;  // one for each word, or for several; for inserts

  static constexpr std::uint64_t mask_of(std::uint64_t place) noexcept {
    return std::uint64_t{1} << (place % 64);
  }
  bool test(std::uint64_t place) const noexcept {
    // acquire: pairs with the release in set(), so that a thread that sees a key's bit also sees
    // what its inserter did before, such as its entry into a gate.
    return (words[place / 64].load(std::memory_order_acquire) & mask_of(place)) != 0;
  }
  std::uint64_t stripe_of(std::uint64_t place) const noexcept {
    return locks.stripe_of(place / 64);
  }
  void fetch_lock(std::uint64_t place) const noexcept {
    __builtin_prefetch(&locks[stripe_of(place)], 1);
  }
  // The caller must hold the lock of the place's stripe.
  void set(std::uint64_t place) const noexcept {
    assert(place < bits);
    locks[stripe_of(place)].assert_held();
    // relaxed: no other thread writes to the word now. release: pairs with the acquire loads in
    // test() and WordArray::copy().
    std::atomic<std::uint64_t>& word = words[place / 64];
    word.store(word.load(std::memory_order_relaxed) | mask_of(place), std::memory_order_release);
  }
};

// Set answers[i] to whether keys[i] was new, or was found; return the number of true answers.
std::size_t insert_classic(ClassicBits bits, std::span<const Fingerprint> keys,
                           bool* answers) noexcept;
std::size_t find_classic(ClassicBits bits, std::span<const Fingerprint> keys,
                         bool* answers) noexcept;

}  // namespace trawl
