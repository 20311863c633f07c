// CountingKey: linearizable inserts and erases of a key in counters.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "filter/bits/stripes_of_key.h"
#include "filter/counting/counter_array.h"
#include "filter/counting/counter_places.h"

namespace trawl {

// `Counters` has count(place), an acquire load, set(place, count), a release store, and the locks
// for StripesOfKey. It is a parameter so that tests can run this code under every interleaving.
// `places` has no duplicates.
//
// Every call holds the locks of all its counters while it reads and changes them. So two calls
// whose keys share a counter run one after the other, and the order of other calls makes no
// difference: the answers are those of the calls in the order in which they held their locks.
template <class Counters>
class CountingKey {
 public:
  CountingKey(const Counters& counters, std::span<const std::uint64_t> places)
      : counters_(counters), places_(places), stripes_(counters) {
    assert(places.size() <= kMaxCountersOfKey);
  }

  // Returns whether a counter was 0, so that the key was absent.
  bool count_up() {
    stripes_.lock(places_);
    bool is_new = false;
    stripes_.unlock(places_, [&](std::uint64_t place) {
      const std::uint64_t count = counters_.count(place);
      is_new |= count == 0;
      if (count < kStuckCounter) counters_.set(place, count + 1);
    });
    return is_new;
  }

  enum class Down { kStillIn, kGone, kWasNotIn };
  Down count_down() {
    stripes_.lock(places_);
    bool is_in = true;
    for (const std::uint64_t place : places_)
      is_in = counters_.count(place) > 0 && is_in;
    bool gone = false;
    stripes_.unlock(places_, [&](std::uint64_t place) {
      const std::uint64_t count = counters_.count(place);
      if (!is_in || count == kStuckCounter) return;
      assert(count > 0);
      counters_.set(place, count - 1);
      gone |= count == 1;
    });
    if (!is_in) return Down::kWasNotIn;
    return gone ? Down::kGone : Down::kStillIn;
  }

 private:
  const Counters& counters_;
  std::span<const std::uint64_t> places_;
  StripesOfKey<Counters, kMaxCountersOfKey> stripes_;
};

}  // namespace trawl
