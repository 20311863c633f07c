// FilterLog: the log of changes to the filters. What is appended is durable after commit().
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "trawl/result.h"

#include "base/file_io.h"
#include "base/mutex.h"
#include "crawler/resp/log_record.h"

namespace trawl::resp {

// One thread appends; commit() may be called by another. Each commit writes what was appended since
// the last one as a frame and syncs it. If that fails, the frame is kept and written again to the
// same place by the next commit, so that a full disk loses nothing.
class FilterLog {
 public:
  using Clock = std::chrono::steady_clock;

  // Begins with `segment`, whose file must not exist yet and is created by the first commit.
  // `sequence` is the number of the next record.
  FilterLog(std::filesystem::path directory, std::uint64_t segment, std::uint64_t sequence);

  void create(std::uint64_t filter, const FilterPlan& plan);
  void drop(std::uint64_t filter);
  void keys(LogRecord::Kind kind, std::uint64_t filter, std::span<const Fingerprint> keys);

  // Errors: kNoSpace, kIo; then the same is tried by the next call.
  Result<void> commit();
  // Begins a new segment with the next frame. Returns its number.
  std::uint64_t rotate();

  // The number of the next record.
  std::uint64_t sequence() const;
  // When the oldest record that is not durable was appended.
  struct Waiting {
    bool any = false;
    std::size_t bytes = 0;
    Clock::time_point since = {};
  };
  Waiting waiting() const;
  // Bytes of the records appended since the last rotate().
  std::uint64_t bytes_of_segment() const;
  // Whether the last commit failed, and why.
  bool failing() const noexcept { return failing_.load(std::memory_order_relaxed); }
  std::string failure() const;

 private:
  struct Records {
    std::string bytes;
    std::uint64_t first = 0;  // sequence
    Clock::time_point since = {};
    std::uint64_t segment = 0;
  };
  void appended(std::size_t before) TRAWL_REQUIRES(mutex_);
  Result<void> write_in_flight() TRAWL_REQUIRES(writing_);
  Result<void> write_frame() TRAWL_REQUIRES(writing_);
  Result<void> open_segment(std::uint64_t segment) TRAWL_REQUIRES(writing_);

  const std::filesystem::path directory_;
  mutable Mutex mutex_;
  Records pending_ TRAWL_GUARDED_BY(mutex_);
  bool in_flight_any_ TRAWL_GUARDED_BY(mutex_) = false;
  Clock::time_point in_flight_since_ TRAWL_GUARDED_BY(mutex_);
  std::size_t in_flight_bytes_ TRAWL_GUARDED_BY(mutex_) = 0;
  std::uint64_t segment_ TRAWL_GUARDED_BY(mutex_);
  std::uint64_t sequence_ TRAWL_GUARDED_BY(mutex_);
  std::uint64_t bytes_of_segment_ TRAWL_GUARDED_BY(mutex_) = 0;
  std::string failure_ TRAWL_GUARDED_BY(mutex_);
  std::atomic<bool> failing_{false};  // relaxed: failure_ has its own lock

  Mutex writing_;  // held by the thread that commits
  Records in_flight_ TRAWL_GUARDED_BY(writing_);
  FileDescriptor file_ TRAWL_GUARDED_BY(writing_);
  std::uint64_t file_segment_ TRAWL_GUARDED_BY(writing_) = 0;
  std::uint64_t salt_ TRAWL_GUARDED_BY(writing_) = 0;
  std::uint64_t offset_ TRAWL_GUARDED_BY(writing_) = 0;
};

}  // namespace trawl::resp
