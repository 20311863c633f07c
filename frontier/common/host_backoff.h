// HostBackoff: how long a failing host is blocked.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace trawl {

class HostBackoff {
 public:
  HostBackoff(std::chrono::milliseconds first, std::chrono::milliseconds most, std::uint64_t seed)
      : random_(seed) {
    set(first, most);
  }

  void set(std::chrono::milliseconds first, std::chrono::milliseconds most) {
    first_ = std::max(first, std::chrono::milliseconds(0));
    most_ = std::max(most, std::chrono::milliseconds(0));
  }

  // The wait after `failures` (>= 1) in a row: `first`, doubled with each further failure, at most
  // `most`. Half of it is random, so that hosts that failed together do not return together.
  std::chrono::milliseconds wait_after(std::uint32_t failures) {
    std::int64_t wait = std::min(first_, most_).count();
    for (std::uint32_t i = 1; i < failures && wait > 0 && wait < most_.count(); ++i)
      wait = wait > most_.count() / 2 ? most_.count() : wait * 2;
    const std::int64_t half = wait / 2;
    const auto range = static_cast<std::uint64_t>(wait - half) + 1;
    return std::chrono::milliseconds(half + static_cast<std::int64_t>(next_random() % range));
  }

 private:
  // SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", 2014).
  std::uint64_t next_random() {
    std::uint64_t z = random_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }

  std::chrono::milliseconds first_{0};
  std::chrono::milliseconds most_{0};
  std::uint64_t random_;
};

}  // namespace trawl
