// WordArray: a large zeroed array of atomic 64-bit words.
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "trawl/result.h"

namespace trawl {

// Memory from mmap(): zeroed, aligned to cache lines, allocated by the kernel only when touched, in
// huge pages where available, from 16 MiB on. Movable; the words are as thread-safe as std::atomic.
class WordArray {
 public:
  // Errors: kNoSpace if the size is more than the free memory (see free_memory.h) or mmap() fails;
  // the message has `what` ("the filter") and the size needed.
  static Result<WordArray> allocate(std::uint64_t words, std::string_view what);
  // The same without the check of free memory: for callers that checked before and should not fail
  // in the middle of long work because other programs need memory for a moment.
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
  // Not if it is small: the kernel clears each huge page as a whole, for which the first keys would
  // wait a millisecond or two.
  bool wants_huge_pages() const noexcept { return size_ >= kWordsOfHugePages; }
  std::atomic<std::uint64_t>* data() const noexcept { return words_; }
  // Writes `from` to the words from `first` on. No other thread may read them yet.
  void store(std::uint64_t first, std::span<const std::uint64_t> from) const noexcept;
  // Copies the words from `first` on to `out`; other threads may set bits meanwhile.
  void copy(std::uint64_t first, std::span<std::uint64_t> out) const noexcept;
  // Takes memory for the whole array, so that later uses cause no page faults. Thread-safe.
  void take_pages() const noexcept;
  std::atomic<std::uint64_t>& operator[](std::uint64_t i) const noexcept {
    assert(i < size_);
    return words_[i];
  }

 private:
  // The TLB of a core has room for a good part of what is smaller.
  static constexpr std::uint64_t kWordsOfHugePages = (std::uint64_t{16} << 20) / 8;

  WordArray(std::atomic<std::uint64_t>* words, std::uint64_t size) : words_(words), size_(size) {}
  std::atomic<std::uint64_t>* words_;
  std::uint64_t size_;
};

}  // namespace trawl
