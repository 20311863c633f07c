// StaleUrls: which URLs were cut off last where a kept-alive connection had been used again.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace trawl {

// A server that ends a connection between two requests does so to whatever is asked next; one that
// does it to the same URL again and again means that URL. Remembers the last kMost, by their
// hashes.
class StaleUrls {
 public:
  static constexpr std::size_t kMost = 256;

  // It was cut off. True if it was the last time as well.
  bool add(std::size_t url) noexcept {
    if (contains(url)) return true;
    urls_[next_++ % kMost] = url;
    size_ = std::max(size_, std::min(next_, kMost));
    return false;
  }
  // It was not.
  void remove(std::size_t url) noexcept {
    for (std::size_t i = 0; i < size_; ++i)
      if (urls_[i] == url) urls_[i] = 0;
  }

 private:
  bool contains(std::size_t url) const noexcept {
    return std::find(urls_.begin(), urls_.begin() + size_, url) != urls_.begin() + size_;
  }

  std::array<std::size_t, kMost> urls_{};
  std::size_t next_ = 0;
  std::size_t size_ = 0;
};

}  // namespace trawl
