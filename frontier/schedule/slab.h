// Slab: objects by 32-bit number, in memory that never moves.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace trawl {

// Numbers of removed objects are reused, the last one first. An unused object is a default one,
// without memory of its own. The memory of all is returned when none is in use.
template <class T>
class Slab {
 public:
  std::uint32_t add() {
    if (!free_.empty()) {
      const std::uint32_t index = free_.back();
      free_.pop_back();
      return index;
    }
    if (next_ == chunks_.size() * kChunk) chunks_.push_back(std::make_unique<T[]>(kChunk));
    return next_++;
  }
  void remove(std::uint32_t index) {
    assert(size() > 0);
    (*this)[index] = T();
    free_.push_back(index);
    if (size() == 0 && chunks_.size() > kKeptChunks) *this = Slab();
  }

  T& operator[](std::uint32_t index) noexcept {
    assert(index < next_);
    return chunks_[index / kChunk][index % kChunk];
  }
  const T& operator[](std::uint32_t index) const noexcept {
    assert(index < next_);
    return chunks_[index / kChunk][index % kChunk];
  }

  // The number of objects in use; their numbers are below end().
  std::size_t size() const noexcept { return next_ - free_.size(); }
  std::uint32_t end() const noexcept { return next_; }
  std::size_t bytes() const noexcept {
    return chunks_.size() * (kChunk * sizeof(T) + sizeof(chunks_[0])) +
           free_.capacity() * sizeof(free_[0]);
  }

 private:
  static constexpr std::uint32_t kChunk = 64;
  static constexpr std::size_t kKeptChunks = 16;

  std::vector<std::unique_ptr<T[]>> chunks_;
  std::vector<std::uint32_t> free_;
  std::uint32_t next_ = 0;
};

}  // namespace trawl
