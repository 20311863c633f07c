// CheckpointRule: when a checkpoint is due. The only place where that is decided.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "trawl/embedded_options.h"

namespace trawl {

// What the rule looks at.
struct CheckpointState {
  using Duration = std::chrono::steady_clock::duration;
  std::uint64_t admitted = 0;                // durable admissions
  std::uint64_t covered = 0;                 // those in the newest checkpoint
  double replayed_per_second = 0;            // admissions that opening replays in a second
  Duration since_newest{0};                  // since the newest checkpoint, or since opening
  Duration since_failure = Duration::max();  // if the last attempt failed
  bool requested = false;
};

// A checkpoint saves the replay of what was admitted since the one before, and costs a copy of the
// filter's newest layer. So it is due when that replay would take too long, and not by the clock.
struct CheckpointRule {
  std::chrono::milliseconds max_replay{30'000};
  std::chrono::milliseconds interval{0};  // 0: none
  std::uint64_t admissions = 0;           // 0: none
  // The pause after a checkpoint that failed.
  std::chrono::milliseconds retry{60'000};

  static CheckpointRule of(const CheckpointOptions& options) {
    return {.max_replay = options.max_replay,
            .interval = options.interval,
            .admissions = options.admissions};
  }

  bool is_due(const CheckpointState& now) const {
    if (now.admitted <= now.covered) return false;
    if (now.requested) return true;
    if (now.since_failure < retry) return false;
    if (interval.count() > 0 && now.since_newest >= interval) return true;
    return now.admitted - now.covered >= most_uncovered(now.replayed_per_second);
  }

  // As many admissions that are in no checkpoint make one due, at least 1.
  std::uint64_t most_uncovered(double replayed_per_second) const {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    const double most = std::chrono::duration<double>(max_replay).count() * replayed_per_second;
    // 2^63: larger numbers are not converted.
    const std::uint64_t by_replay =
        most < 0x1p63 ? std::max<std::uint64_t>(1, static_cast<std::uint64_t>(most)) : kMost;
    return admissions > 0 ? std::min(by_replay, admissions) : by_replay;
  }
};

}  // namespace trawl
