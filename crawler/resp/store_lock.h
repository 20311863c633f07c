// StoreLock: keeps a second server off a directory.
#pragma once

#include <filesystem>

#include "trawl/result.h"

#include "base/file_io.h"

namespace trawl::resp {

// Held while the object exists; the kernel releases it when the process ends in any way.
class StoreLock {
 public:
  // Locks DIRECTORY/LOCK. Errors: kInUse, naming the process that holds it; kPermission, kIo.
  static Result<StoreLock> acquire(const std::filesystem::path& directory);

 private:
  explicit StoreLock(FileDescriptor file) : file_(std::move(file)) {}
  FileDescriptor file_;
};

}  // namespace trawl::resp
