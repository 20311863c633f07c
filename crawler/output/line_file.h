// LineFile: a file of lines that always ends with a complete line.
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
  // Opens `path` for appending, creates it if it is missing, and removes an incomplete line that a
  // crash left at its end. Errors: kInUse if another process writes to it; kInvalidArgument if it
  // is not a regular file, but a symbolic link, for example.
  static Result<LineFile> open(const std::filesystem::path& path);
  // The size of the file that open() would open; 0 if it is missing. Changes nothing. Errors: those
  // of open().
  static Result<std::uint64_t> probe(const std::filesystem::path& path);

  // Appends complete lines: all of them, or none and returns the error.
  Result<void> append(std::string_view lines);
  // Removes what was appended beyond `size`, an earlier value of size().
  Result<void> cut_back(std::uint64_t size);
  // Makes what was appended survive a power loss. Costs nothing if nothing was appended.
  Result<void> sync();

  const std::string& path() const noexcept { return path_; }
  std::uint64_t size() const noexcept { return size_; }
  // Bytes of the incomplete line that open() removed.
  std::uint64_t cut_at_open() const noexcept { return cut_at_open_; }

 private:
  LineFile(FileDescriptor fd, std::string path, std::uint64_t size, std::uint64_t cut)
      : fd_(std::move(fd)), path_(std::move(path)), size_(size), cut_at_open_(cut) {}
  FileDescriptor fd_;
  std::string path_;
  std::uint64_t size_;
  std::uint64_t cut_at_open_;
  bool torn_ = false;    // the file may have more bytes than size_
  bool synced_ = false;  // since the last change
  OneAtATime using_;
};

}  // namespace trawl
