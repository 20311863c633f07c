// ZeroedArray: a large array of zeros, such as a cache, whose pages take time and memory only once
// they are used.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace trawl {

// Of values that are a T{} if all their bytes are zero.
template <class T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  explicit ZeroedArray(std::size_t size)
      : values_(static_cast<T*>(std::calloc(size, sizeof(T)))), size_(size) {
    assert(size > 0);
    if (values_ == nullptr) throw std::bad_alloc();
  }

  std::size_t size() const noexcept { return size_; }
  T& operator[](std::size_t i) noexcept {
    assert(i < size_);
    return values_.get()[i];
  }

 private:
  struct Free {
    void operator()(T* values) const noexcept { std::free(values); }
  };
  std::unique_ptr<T, Free> values_;
  std::size_t size_;
};

}  // namespace trawl
