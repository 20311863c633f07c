// LineFile: a file of lines that ends with a whole one, whatever happens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "trawl/result.h"

#include "base/file_io.h"
#include "base/one_thread.h"

namespace trawl {

// Not thread-safe.
class LineFile {
 public:
  // Opens `path` for appending, creates it if missing, and cuts a half line that a crash left at
  // its end. Errors: kInUse if another process writes to it; kInvalidArgument if it is no regular
  // file, but a symbolic link, say.
  static Result<LineFile> open(const std::filesystem::path& path);
  // How large the file is that open() would open, which is looked at alone; 0 if it is missing.
  // Errors: those of open().
  static Result<std::uint64_t> probe(const std::filesystem::path& path);

  // Appends whole lines: all, or none and returns the error.
  Result<void> append(std::string_view lines);
  // Takes back what was appended beyond `size`, one that size() was before.
  Result<void> cut_back(std::uint64_t size);
  // What was appended survives a power loss. Costs nothing if nothing was.
  Result<void> sync();

  const std::string& path() const noexcept { return path_; }
  std::uint64_t size() const noexcept { return size_; }
  // Bytes of the half line that open() cut.
  std::uint64_t cut_at_open() const noexcept { return cut_at_open_; }

 private:
  LineFile(FileDescriptor fd, std::string path, std::uint64_t size, std::uint64_t cut)
      : fd_(std::move(fd)), path_(std::move(path)), size_(size), cut_at_open_(cut) {}
  FileDescriptor fd_;
  std::string path_;
  std::uint64_t size_;
  std::uint64_t cut_at_open_;
  bool torn_ = false;    // there may be more in the file than size_ tells
  bool synced_ = false;  // since the last change
  OneAtATime using_;
};

}  // namespace trawl
