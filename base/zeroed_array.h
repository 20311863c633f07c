// ZeroedArray: a large array of zeros, such as a cache, that takes time and memory only once it is
// used.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/take_pages.h"
#include "base/zeroed_pages.h"

namespace trawl {

// Of values that are a T{} if all their bytes are zero. Places in it are used at random, most of
// them read before they are written: so it takes memory in pieces, see take_pages(). For one
// thread.
template <class T>
class ZeroedArray {
 public:
  explicit ZeroedArray(std::size_t size) : values_(size), taken_(size / kPiece + 1) {}

  std::size_t size() const noexcept { return values_.size(); }
  T& operator[](std::size_t i) noexcept {
    if (!taken_[i / kPiece]) take(i / kPiece);
    return values_[i];
  }

 private:
  static constexpr std::size_t kPiece = (64u << 10) / sizeof(T);

  void take(std::size_t piece) noexcept {
    const std::size_t first = piece * kPiece;
    static_cast<void>(take_pages(&values_[first], std::min(kPiece, size() - first) * sizeof(T)));
    taken_[piece] = true;
  }

  const ZeroedPages<T> values_;
  std::vector<bool> taken_;  // by piece
};

}  // namespace trawl
