#include "crawler/status/disk_usage.h"

#include <system_error>

namespace trawl {

namespace {

// Files may vanish meanwhile: those count as empty.
std::uint64_t bytes_of_files_in(const std::filesystem::path& directory) {
  std::uint64_t bytes = 0;
  std::error_code failure;
  std::filesystem::directory_iterator it(directory, failure);
  for (; !failure && it != std::filesystem::directory_iterator(); it.increment(failure)) {
    std::error_code gone;
    if (!it->is_regular_file(gone)) continue;
    const std::uint64_t size = it->file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

}  // namespace

std::uint64_t DiskUsage::of_state(const std::filesystem::path& state_dir,
                                  std::chrono::steady_clock::time_point now) {
  const MutexLock lock(mutex_);
  if (!known_ || now - measured_ >= kKept) {
    bytes_ = bytes_of_files_in(state_dir) + bytes_of_files_in(state_dir / "store");
    measured_ = now;
    known_ = true;
  }
  return bytes_;
}

}  // namespace trawl
