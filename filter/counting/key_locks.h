// KeyLocks: mutexes that keys share, so that operations on one key come one after the other.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include "trawl/fingerprint.h"

#include "filter/striped_counter.h"

namespace trawl {

class KeyLocks {
 public:
  std::mutex& of(Fingerprint key) noexcept {
    return stripes_[(key.high ^ key.low) % kStripes].mutex;
  }

 private:
  static constexpr std::size_t kStripes = 256;
  struct alignas(kCacheLine) Stripe {
    std::mutex mutex;
  };
  std::array<Stripe, kStripes> stripes_;
};

}  // namespace trawl
