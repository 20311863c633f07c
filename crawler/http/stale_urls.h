// StaleUrls: remembers URLs for which the server last closed a kept-alive connection instead of
// responding.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace trawl {

// A server that closes an idle connection affects whichever URL is requested next. If it happens
// repeatedly for the same URL, the server does it because of that URL. Remembers the last kMost
// URLs by their hashes.
class StaleUrls {
 public:
  static constexpr std::size_t kMost = 256;

  // The connection was closed. Returns true if it was closed the last time too.
  bool add(std::size_t url) noexcept {
    if (contains(url)) return true;
    urls_[next_++ % kMost] = url;
    size_ = std::max(size_, std::min(next_, kMost));
    return false;
  }
  // The URL got a response.
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
