// Files: complete writes, syncs and atomic publication.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <sys/types.h>

#include "trawl/result.h"

namespace trawl {

// A file descriptor that its destructor closes.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) noexcept : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

// A file being written from its start.
class OutputFile {
 public:
  // Creates or truncates `path`.
  static Result<OutputFile> create(const std::string& path);
  // Creates `path` with `mode`, restricted by the umask; kAlreadyExists if it exists.
  static Result<OutputFile> create_new(const std::string& path, mode_t mode = 0644);
  // Replaces the contents of `path` as replace_file() does; write() continues after them.
  static Result<OutputFile> replace(const std::string& path, std::string_view contents,
                                    mode_t mode = 0644);
  // Writes all of `bytes` or fails.
  Result<void> write(std::string_view bytes);
  // Overwrites the bytes at `offset`.
  Result<void> write_at(std::string_view bytes, std::uint64_t offset);
  // Fills `out` with the bytes at `offset`; kIo if there are fewer.
  Result<void> read_at(std::span<char> out, std::uint64_t offset) const;
  // Starts reading what read_at() will need.
  void prefetch(std::uint64_t offset, std::uint64_t size) const noexcept;
  // Truncates the file to the bytes written by write(), removing what write_at() put after them.
  Result<void> cut();
  // If at least `least` bytes were written since the last time: starts writing them to the disk,
  // and waits for those of earlier calls, so that sync() never has much to do. Makes nothing
  // durable.
  Result<void> write_back(std::uint64_t least);
  // Makes everything written survive a power loss.
  Result<void> sync();
  std::uint64_t size() const noexcept { return size_; }

 private:
  OutputFile(FileDescriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  FileDescriptor fd_;
  std::string path_;
  std::uint64_t size_ = 0;
  std::uint64_t write_back_begun_ = 0;  // write-back was requested below this offset
};

// The name of an unfinished file, next to its target. Threads may create such files concurrently;
// an object is not thread-safe.
class TemporaryFile {
 public:
  struct Created;
  // Creates a file with the unique name `target`.tmp- and 12 random digits.
  static Result<Created> create(const std::string& target);
  const std::string& path() const noexcept { return path_; }
  // Renames it to the target, durably.
  Result<void> publish();
  // Removes the temporary files of all threads, then calls `end`, which must end the process. No
  // thread can create or publish one meanwhile.
  [[noreturn]] static void remove_all_and_end(const std::function<void()>& end);

  TemporaryFile(TemporaryFile&& other) noexcept
      : path_(std::exchange(other.path_, {})), target_(std::move(other.target_)) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile() {  // removes it unless it was published
    if (!path_.empty()) remove();
  }

 private:
  TemporaryFile(std::string path, std::string target)
      : path_(std::move(path)), target_(std::move(target)) {}
  void remove();
  std::string path_;  // empty if there is none
  std::string target_;
};

struct TemporaryFile::Created {
  TemporaryFile name;
  OutputFile file;
};

// A file being read.
class InputFile {
 public:
  // Errors: kInvalidArgument if it is not a regular file, for example a pipe; kIo if it is a
  // folder.
  static Result<InputFile> open(const std::string& path);
  // Reads up to `size` bytes from `offset` on; fewer only at the end of the file.
  Result<std::size_t> read_at(char* buffer, std::size_t size, std::uint64_t offset) const;
  Result<std::uint64_t> size() const;
  // Whether the path still names this file, and not another that has replaced it.
  bool is_current() const;
  int descriptor() const noexcept { return fd_.get(); }
  const std::string& path() const noexcept { return path_; }

 private:
  InputFile(FileDescriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  FileDescriptor fd_;
  std::string path_;
};

Result<void> write_all(int fd, std::string_view bytes, const std::string& path);
// Makes what was written to the file survive a power loss.
Result<void> sync_file(int fd, const std::string& path);
Result<std::string> read_file(const std::string& path, std::size_t max_bytes);
Result<void> sync_directory(const std::string& path);
// Renames `from` to `to` in one directory and makes the new name durable.
Result<void> publish_file(const std::string& from, const std::string& to);
// Replaces the contents of `path` atomically and durably: a crash leaves the old or the new
// contents. The new file has `mode`, restricted by the umask, from the beginning.
Result<void> replace_file(const std::string& path, std::string_view contents, mode_t mode = 0644);

}  // namespace trawl
