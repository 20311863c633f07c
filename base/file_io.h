// Files as the snapshots and the manifest need them: whole writes, syncs, atomic publication.
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

// A file descriptor that closes itself.
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
  // Creates `path` or empties it.
  static Result<OutputFile> create(const std::string& path);
  // Creates `path`, which the umask lets those read and write that `mode` names; kAlreadyExists if
  // it is there.
  static Result<OutputFile> create_new(const std::string& path, mode_t mode = 0644);
  // Writes all of `bytes` or fails.
  Result<void> write(std::string_view bytes);
  // Writes over what is at `offset`.
  Result<void> write_at(std::string_view bytes, std::uint64_t offset);
  // Fills `out` with what is at `offset`; kIo if there is less.
  Result<void> read_at(std::span<char> out, std::uint64_t offset) const;
  // Has the disk begin to read what read_at() will ask for.
  void prefetch(std::uint64_t offset, std::uint64_t size) const noexcept;
  // Cuts off what write_at() put behind the bytes that were written.
  Result<void> cut();
  // Has the disk begin with the bytes that were written since the last call, and waits until it has
  // those of the calls before, so that sync() never has much to do. Makes nothing durable.
  Result<void> write_back();
  // Makes what was written survive a power loss.
  Result<void> sync();
  std::uint64_t size() const noexcept { return size_; }

 private:
  OutputFile(FileDescriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  FileDescriptor fd_;
  std::string path_;
  std::uint64_t size_ = 0;
  std::uint64_t write_back_begun_ = 0;  // below it the disk has been told to write
};

// The name of a file in the making, beside the one it is to become. Threads may make such files at
// the same time; an object is not thread-safe.
class TemporaryFile {
 public:
  struct Created;
  // Creates `target`.tmp- and 12 random digits, which nobody else has.
  static Result<Created> create(const std::string& target);
  const std::string& path() const noexcept { return path_; }
  // Renames it to the target and makes that durable.
  Result<void> publish();
  // Removes those of all threads, then calls `end`, which must end the process. No thread can
  // create or publish one meanwhile.
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
  std::string path_;  // empty: there is none, or no more
  std::string target_;
};

struct TemporaryFile::Created {
  TemporaryFile name;
  OutputFile file;
};

// A file being read.
class InputFile {
 public:
  // Errors: kInvalidArgument if it is no regular file, such as a pipe; kIo if it is a folder.
  static Result<InputFile> open(const std::string& path);
  // Fills `buffer` with up to `size` bytes from `offset` on; fewer only at the end of the file.
  Result<std::size_t> read_at(char* buffer, std::size_t size, std::uint64_t offset) const;
  Result<std::uint64_t> size() const;
  // Whether its path still names this file, and no other that has replaced it.
  bool is_current() const;
  int descriptor() const noexcept { return fd_.get(); }
  const std::string& path() const noexcept { return path_; }

 private:
  InputFile(FileDescriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  FileDescriptor fd_;
  std::string path_;
};

Result<void> write_all(int fd, std::string_view bytes, const std::string& path);
Result<std::string> read_file(const std::string& path, std::size_t max_bytes);
Result<void> sync_directory(const std::string& path);
// Renames `from` to `to` in one directory and makes the new name durable.
Result<void> publish_file(const std::string& from, const std::string& to);
// Replaces the contents of `path` atomically and durably: a crash leaves the old or the new. At no
// time can others than `mode` names (and the umask lets) read the new.
Result<void> replace_file(const std::string& path, std::string_view contents, mode_t mode = 0644);

}  // namespace trawl
