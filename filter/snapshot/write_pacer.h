// WritePacer: limits the rate of a snapshot's writer.
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <cstdint>
#include <thread>

#include "trawl/result.h"
#include "trawl/snapshot_pace.h"

namespace trawl {

class WritePacer {
 public:
  explicit WritePacer(const SnapshotPace& pace) : pace_(pace) {}

  // Returns when a writer that has written `bytes` in total may continue. Errors: kClosed if it
  // must give up.
  Result<void> wait(std::uint64_t bytes) {
    assert(bytes >= bytes_);
    const std::uint64_t more = bytes - bytes_;
    bytes_ = bytes;
    if (limited()) {
      free_ = std::max(free_, Clock::now() - kCatchUp) + cost_of(more);
      if (free_ - Clock::now() >= kShortest) sleep_until_free();
    }
    if (given_up()) return error(ErrorCode::kClosed, "the snapshot was cancelled");
    return {};
  }

 private:
  using Clock = std::chrono::steady_clock;
  // How long a writer that fell behind may write without limit.
  static constexpr std::chrono::milliseconds kCatchUp{20};
  // Shorter waits are accumulated.
  static constexpr std::chrono::milliseconds kShortest{2};
  // The interval of checking the flags.
  static constexpr std::chrono::milliseconds kLook{10};

  Clock::duration cost_of(std::uint64_t bytes) const {
    // A limit of a few bytes a second must not overflow the clock.
    constexpr std::chrono::duration<double> kLongest = std::chrono::hours(24);
    const std::chrono::duration<double> cost(static_cast<double>(bytes) /
                                             static_cast<double>(pace_.bytes_per_second));
    return std::chrono::duration_cast<Clock::duration>(std::min(cost, kLongest));
  }
  void sleep_until_free() const {
    for (auto now = Clock::now(); now < free_ && limited() && !given_up(); now = Clock::now())
      std::this_thread::sleep_for(std::min<Clock::duration>(free_ - now, kLook));
  }
  bool given_up() const noexcept { return is_set(pace_.give_up); }
  bool limited() const noexcept { return pace_.bytes_per_second != 0 && !is_set(pace_.hurry); }
  // Relaxed: no other data depends on the flags.
  static bool is_set(const std::atomic<bool>* flag) noexcept {
    return flag != nullptr && flag->load(std::memory_order_relaxed);
  }

  const SnapshotPace pace_;
  std::uint64_t bytes_ = 0;                // in total
  Clock::time_point free_ = Clock::now();  // when bytes_ is within the limit
};

}  // namespace trawl
