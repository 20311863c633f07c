// ZeroedPages: a large array of zeros in pages of its own, which take memory only once they are
// used.
#pragma once

#include <cassert>
#include <cstddef>
#include <new>
#include <type_traits>

#include <sys/mman.h>

namespace trawl {

// Of values that are a T{} if all their bytes are zero. Begins at a page. May be larger than the
// machine's memory: only what is used takes some.
template <class T>
class ZeroedPages {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  explicit ZeroedPages(std::size_t size) : size_(size) {
    assert(size > 0);
    // MAP_NORESERVE: nothing is set aside for what is not used.
    void* const memory = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    values_ = static_cast<T*>(memory);
  }
  ~ZeroedPages() { ::munmap(values_, bytes()); }
  ZeroedPages(const ZeroedPages&) = delete;
  ZeroedPages& operator=(const ZeroedPages&) = delete;

  std::size_t size() const noexcept { return size_; }
  std::size_t bytes() const noexcept { return size_ * sizeof(T); }
  T& operator[](std::size_t i) const noexcept {
    assert(i < size_);
    return values_[i];
  }

 private:
  T* values_;
  std::size_t size_;
};

}  // namespace trawl
