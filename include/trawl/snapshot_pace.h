// SnapshotPace: limits how fast the file of a filter is written.
#pragma once

#include <atomic>
#include <cstdint>

namespace trawl {

// The writer checks the flags, if given, many times a second; they must outlive the call.
struct SnapshotPace {
  std::uint64_t bytes_per_second = 0;          // at most; 0: no limit
  const std::atomic<bool>* hurry = nullptr;    // true: no limit from now on
  const std::atomic<bool>* give_up = nullptr;  // true: the write ends with kClosed
};

}  // namespace trawl
