// StripesOfKey: the locks that a key needs whose bits lie anywhere, taken together.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace trawl {

// `Filter` gives stripe_of(place), and the locks of the stripes as `locks[stripe]`; a parameter so
// that the tests can run this under every interleaving. At most kMost places.
//
// No two threads wait for each other: the locks are tried in the order of the places, and given
// back if one is not free; and whoever waits for locks takes them in ascending order.
template <class Filter, std::size_t kMost>
class StripesOfKey {
 public:
  explicit StripesOfKey(const Filter& filter) : filter_(filter) {}

  void lock(std::span<const std::uint64_t> places) {
    if (!try_lock(places, [](std::uint64_t) {})) lock_in_order(places);
  }
  // Does not wait: returns false, holding none, if a lock is not free. Another thread has it, or
  // this one does, since places may share one. Calls with_lock(place) as soon as it has each.
  template <class Use>
  bool try_lock(std::span<const std::uint64_t> places, const Use& with_lock) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!filter_.locks[filter_.stripe_of(places[i])].try_lock()) {
        while (i > 0)
          filter_.locks[filter_.stripe_of(places[--i])].unlock();
        return false;
      }
      with_lock(places[i]);
    }
    return true;
  }
  [[gnu::noinline]] void lock_in_order(std::span<const std::uint64_t> places) {
    for (std::size_t i = 0; i < places.size(); ++i)
      ordered_[i] = filter_.stripe_of(places[i]);
    const auto end = ordered_.begin() + static_cast<std::ptrdiff_t>(places.size());
    std::sort(ordered_.begin(), end);
    count_ = static_cast<std::size_t>(std::unique(ordered_.begin(), end) - ordered_.begin());
    for (std::size_t i = 0; i < count_; ++i)
      filter_.locks[ordered_[i]].lock();
  }
  // Calls with_lock(place) for each place, and gives back its lock as soon as may be.
  template <class Use>
  void unlock(std::span<const std::uint64_t> places, const Use& with_lock) {
    for (const std::uint64_t place : places) {
      with_lock(place);
      if (count_ == 0) filter_.locks[filter_.stripe_of(place)].unlock();
    }
    for (; count_ > 0; --count_)
      filter_.locks[ordered_[count_ - 1]].unlock();
  }

 private:
  const Filter& filter_;
  std::size_t count_ = 0;  // of those taken in ascending order
  std::array<std::uint64_t, kMost> ordered_;
};

}  // namespace trawl
