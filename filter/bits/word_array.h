// WordArray: a large zeroed array of atomic 64-bit words.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "trawl/result.h"

namespace trawl {

// Memory straight from the kernel: zero, aligned to cache lines, taken only as it is touched, in
// huge pages where the kernel has them. Movable; the words are as thread-safe as std::atomic.
class WordArray {
 public:
  // Errors: kNoSpace, naming `what` ("the filter") and the size needed, if it is more than
  // is free (see free_memory.h) or the system gives.
  static Result<WordArray> allocate(std::uint64_t words, std::string_view what);
  // The same without a look at what is free: for who has looked before, and in the midst of long
  // work does not give up because other programs need memory for a moment.
  static Result<WordArray> allocate_unchecked(std::uint64_t words, std::string_view what);

  WordArray(WordArray&& other) noexcept
      : words_(std::exchange(other.words_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  WordArray& operator=(WordArray&& other) noexcept {
    std::swap(words_, other.words_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~WordArray();

  std::uint64_t size() const noexcept { return size_; }
  std::uint64_t bytes() const noexcept { return size_ * sizeof(std::uint64_t); }
  std::atomic<std::uint64_t>* data() const noexcept { return words_; }
  // Writes `from` to the words from `first` on, before others may look at them.
  void store(std::uint64_t first, std::span<const std::uint64_t> from) const noexcept;
  // Fills `out` with the words from `first` on, while others may set bits in them.
  void copy(std::uint64_t first, std::span<std::uint64_t> out) const noexcept;
  // Takes the memory of a zeroed array now, so that writing to it later waits for no page.
  void take_pages() const noexcept;
  std::atomic<std::uint64_t>& operator[](std::uint64_t i) const noexcept { return words_[i]; }

 private:
  WordArray(std::atomic<std::uint64_t>* words, std::uint64_t size) : words_(words), size_(size) {}
  std::atomic<std::uint64_t>* words_;
  std::uint64_t size_;
};

}  // namespace trawl
