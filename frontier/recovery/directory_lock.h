// DirectoryLock: keeps a second process out of a state directory.
#pragma once

#include <filesystem>
#include <optional>

#include "trawl/result.h"

#include "base/file_io.h"

namespace trawl {

// Held as long as the object lives; the kernel frees it when the process dies, however it dies.
class DirectoryLock {
 public:
  // Errors: kInUse, with the process that holds it; kPermission, kNoSpace, kIo.
  static Result<DirectoryLock> acquire(const std::filesystem::path& directory);
  // For those that read alone: keeps others from changing what is there, not from reading it, and
  // writes nothing. Nothing where that is not possible: on a read-only file system, in a directory
  // of another user, in a copy without the file. Errors: kInUse.
  static Result<std::optional<DirectoryLock>> share(const std::filesystem::path& directory);

 private:
  explicit DirectoryLock(FileDescriptor fd) : fd_(std::move(fd)) {}
  FileDescriptor fd_;
};

}  // namespace trawl
