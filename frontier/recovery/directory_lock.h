// DirectoryLock: locks a state directory against other processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "trawl/result.h"

#include "base/file_io.h"
#include "base/fork_generation.h"

namespace trawl {

// Held while the object exists; the kernel releases it when the process ends in any way.
class DirectoryLock {
 public:
  DirectoryLock(DirectoryLock&&) noexcept = default;
  DirectoryLock& operator=(DirectoryLock&&) noexcept = default;
  ~DirectoryLock();
  // Errors: kInUse, naming the process that holds it; kPermission, kNoSpace, kIo.
  static Result<DirectoryLock> acquire(const std::filesystem::path& directory);
  // A shared lock for readers: excludes writers, allows other readers, and writes nothing. Returns
  // nothing where locking is not possible: on a read-only file system, in another user's directory,
  // or in a copy without the lock file. Errors: kInUse.
  static Result<std::optional<DirectoryLock>> share(const std::filesystem::path& directory);

 private:
  explicit DirectoryLock(FileDescriptor fd) : fd_(std::move(fd)) {}
  FileDescriptor fd_;
  std::uint32_t generation_ = fork_generation();
};

}  // namespace trawl
