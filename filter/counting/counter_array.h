// CounterArray: 4-bit counters that stay at 15 once they reach it, 16 in an atomic word.
#pragma once

#include <atomic>
#include <bit>
#include <cassert>
#include <cstdint>
#include <utility>

#include "filter/bits/word_array.h"

namespace trawl {

inline constexpr unsigned kBitsPerCounter = 4;
inline constexpr unsigned kCountersPerWord = 64 / kBitsPerCounter;

// The number of words for at least `counters` counters.
inline constexpr std::uint64_t counter_words(std::uint64_t counters) noexcept {
  return counters / kCountersPerWord + 1;
}
inline constexpr std::uint64_t kStuckCounter = 15;

// The value of counter c, which is in `word`.
inline std::uint64_t count_in(std::uint64_t word, std::uint64_t c) noexcept {
  return word >> (c % kCountersPerWord * kBitsPerCounter) & kStuckCounter;
}

inline unsigned counters_above_zero(std::uint64_t word) noexcept {
  word |= word >> 2;
  word |= word >> 1;
  return static_cast<unsigned>(std::popcount(word & 0x1111111111111111));
}

// Counter c is the 4 bits from bit 4 (c mod 16) on of word floor(c / 16). For each word one thread
// at a time may change counters; all threads may read.
class CounterArray {
 public:
  explicit CounterArray(WordArray words) : words_(std::move(words)) {}

  const WordArray& words() const noexcept { return words_; }
  std::uint64_t size() const noexcept { return words_.size() * kCountersPerWord; }

  // The address of a counter's word, for prefetching.
  const void* word_of(std::uint64_t c) const noexcept {
    return words_.data() + c / kCountersPerWord;
  }

  std::uint64_t count(std::uint64_t c) const noexcept {
    // acquire: pairs with the release in set(), so that a thread that reads a count also sees what
    // the thread that set it did before.
    return count_in(words_[c / kCountersPerWord].load(std::memory_order_acquire), c);
  }

  void set(std::uint64_t c, std::uint64_t count) noexcept {
    assert(c < size() && count <= kStuckCounter);
    std::atomic<std::uint64_t>& word = words_[c / kCountersPerWord];
    const std::uint64_t before = word.load(std::memory_order_relaxed);
    const unsigned shift = c % kCountersPerWord * kBitsPerCounter;
    // release: pairs with the acquire in count().
    word.store((before & ~(kStuckCounter << shift)) | count << shift, std::memory_order_release);
  }

 private:
  WordArray words_;
};

}  // namespace trawl
