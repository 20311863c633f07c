// FreeSpaceGuard: says when a crawl must pause, and end, because a disk is almost full.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trawl/clocks.h"
#include "trawl/result.h"

namespace trawl {

// Bytes that an unprivileged process may still write to the file system of `path`. Absent if it
// is unknown.
std::optional<std::uint64_t> free_space_of(const std::filesystem::path& path);

// For one thread.
class FreeSpaceGuard {
 public:
  using FreeSpace = std::function<std::optional<std::uint64_t>(const std::filesystem::path&)>;
  enum class Step : std::uint8_t {
    kNone,
    kPause,   // there is less than min_free since now
    kGoOn,    // there is enough again since now
    kGiveUp,  // there has been less for as long as was to be waited
  };

  // Watches the disks of `paths`; min_free 0: none.
  FreeSpaceGuard(std::vector<std::filesystem::path> paths, std::uint64_t min_free,
                 std::chrono::milliseconds wait, FreeSpace free_space = free_space_of);

  // Looks at the disks if the last look is old enough. Call often.
  Step check(SteadyTime now);
  // From reload; see CrawlConfig::Output.
  void set(std::uint64_t min_free, std::chrono::milliseconds wait);
  bool lacks() const noexcept { return since_.has_value(); }
  // "3MiB are free on the disk of DIR, less than output.min_free = 1GiB"
  std::string what() const;

 private:
  static constexpr std::chrono::milliseconds kInterval{200};

  const std::vector<std::filesystem::path> paths_;
  std::uint64_t min_free_;
  std::chrono::milliseconds wait_;
  const FreeSpace free_space_;
  std::optional<SteadyTime> looked_;
  std::optional<SteadyTime> since_;  // when it began to lack space
  std::uint64_t least_ = 0;          // at the last look
  std::size_t least_of_ = 0;         // the path
};

}  // namespace trawl
