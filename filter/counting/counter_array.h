// CounterArray: counters of 4 bits that stay at 15 once they are there, 16 in an atomic word.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <utility>

#include "filter/word_array.h"

namespace trawl {

inline constexpr unsigned kBitsPerCounter = 4;
inline constexpr unsigned kCountersPerWord = 64 / kBitsPerCounter;
inline constexpr std::uint64_t kStuckCounter = 15;

// The value of counter c, `word` being the one that it is in.
inline std::uint64_t count_in(std::uint64_t word, std::uint64_t c) noexcept {
  return word >> (c % kCountersPerWord * kBitsPerCounter) & kStuckCounter;
}

inline unsigned counters_above_zero(std::uint64_t word) noexcept {
  word |= word >> 2;
  word |= word >> 1;
  return static_cast<unsigned>(std::popcount(word & 0x1111111111111111));
}

// Counter c is the bits from 4 (c mod 16) on of word floor(c / 16). Each change is one CAS, so that
// threads may change counters of the same word. acquire and release throughout: whoever reads a
// count also sees what the thread that made it did before.
class CounterArray {
 public:
  explicit CounterArray(WordArray words) : words_(std::move(words)) {}

  const WordArray& words() const noexcept { return words_; }
  std::uint64_t size() const noexcept { return words_.size() * kCountersPerWord; }

  // The word of a counter, for prefetching.
  const void* word_of(std::uint64_t c) const noexcept {
    return words_.data() + c / kCountersPerWord;
  }

  bool is_zero(std::uint64_t c) const noexcept {
    // Pairs with the CAS in count_up() and count_down().
    return count_in(words_[c / kCountersPerWord].load(std::memory_order_acquire), c) == 0;
  }

  // Returns true iff the counter was 0.
  bool count_up(std::uint64_t c) noexcept {
    std::atomic<std::uint64_t>& word = words_[c / kCountersPerWord];
    std::uint64_t seen = word.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint64_t count = count_in(seen, c);
      if (count == kStuckCounter) return false;
      if (word.compare_exchange_weak(seen, seen + one(c), std::memory_order_acq_rel,
                                     std::memory_order_relaxed)) {
        return count == 0;
      }
    }
  }

  enum class Down { kDone, kStuck, kWasZero };
  Down count_down(std::uint64_t c) noexcept {
    std::atomic<std::uint64_t>& word = words_[c / kCountersPerWord];
    std::uint64_t seen = word.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint64_t count = count_in(seen, c);
      if (count == kStuckCounter) return Down::kStuck;
      if (count == 0) return Down::kWasZero;
      if (word.compare_exchange_weak(seen, seen - one(c), std::memory_order_acq_rel,
                                     std::memory_order_relaxed)) {
        return Down::kDone;
      }
    }
  }

 private:
  static std::uint64_t one(std::uint64_t c) noexcept {
    return std::uint64_t{1} << (c % kCountersPerWord * kBitsPerCounter);
  }

  WordArray words_;
};

}  // namespace trawl
