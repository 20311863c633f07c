// StripesOfKey: takes all locks of a key whose bits are anywhere in the filter.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

namespace trawl {

// `Filter` has stripe_of(place) and the locks of the stripes as `locks[stripe]`. It is a parameter
// so that tests can run this under every interleaving. At most kMost places.
//
// No deadlock: the locks are first tried, without waiting, in the order of the places, and released
// if one is taken. Only then are they locked, with waiting, in ascending order.
template <class Filter, std::size_t kMost>
class StripesOfKey {
 public:
  explicit StripesOfKey(const Filter& filter) : filter_(filter) {}

  void lock(std::span<const std::uint64_t> places) {
    if (!try_lock(places, [](std::uint64_t) {})) lock_in_order(places);
  }
  // Does not wait: returns false and holds no lock if one is taken, by another thread or by this
  // one, since places may share a lock. Calls with_lock(place) as soon as it has the lock of each
  // place.
  template <class Use>
  bool try_lock(std::span<const std::uint64_t> places, const Use& with_lock) {
    assert(places.size() <= kMost && count_ == 0);
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
    assert(places.size() <= kMost && count_ == 0);
    for (std::size_t i = 0; i < places.size(); ++i)
      ordered_[i] = filter_.stripe_of(places[i]);
    const auto end = ordered_.begin() + static_cast<std::ptrdiff_t>(places.size());
    std::sort(ordered_.begin(), end);
    count_ = static_cast<std::size_t>(std::unique(ordered_.begin(), end) - ordered_.begin());
    for (std::size_t i = 0; i < count_; ++i)
      filter_.locks[ordered_[i]].lock();
  }
  // Calls with_lock(place) for each place, and releases its lock as soon as possible.
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
  std::size_t count_ = 0;  // number of locks taken in ascending order
  std::array<std::uint64_t, kMost> ordered_;
};

}  // namespace trawl
