// DiskUsage: the size of a crawl's state on the disk.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>

#include "base/mutex.h"

namespace trawl {

// Thread-safe.
class DiskUsage {
 public:
  // How long a size is kept.
  static constexpr std::chrono::seconds kKept{10};

  // The bytes of the files of the state directory and of its store. Other folders, such as the
  // output, may have a file for each page, and are not read. The files, of which a large crawl has
  // some thousands, are listed at most once in kKept.
  std::uint64_t of_state(const std::filesystem::path& state_dir,
                         std::chrono::steady_clock::time_point now);

 private:
  Mutex mutex_;
  bool known_ TRAWL_GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point measured_ TRAWL_GUARDED_BY(mutex_);
  std::uint64_t bytes_ TRAWL_GUARDED_BY(mutex_) = 0;
};

}  // namespace trawl
