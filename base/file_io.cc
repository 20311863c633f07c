#include "base/file_io.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mutex.h"

namespace trawl {

namespace {

tl::unexpected<Error> last_error(std::string_view doing, const std::string& path) {
  return tl::unexpected<Error>(system_error(errno, std::string(doing) + " " + path));
}

// All temporary files, to be removed if the process must end before they are published.
struct TemporaryFiles {
  Mutex lock;
  std::set<std::string> paths TRAWL_GUARDED_BY(lock);
};

TemporaryFiles& temporary_files() {
  static auto* const files = new TemporaryFiles;  // never destroyed, since threads may outlive
                                                  // static objects
  return *files;
}

Result<void> sync_parent(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path();
  return sync_directory(parent.empty() ? "." : parent.string());
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return last_error("cannot write", path);
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> sync_file(int fd, const std::string& path) {
  if (::fdatasync(fd) != 0) return last_error("cannot sync", path);
  return {};
}

Result<OutputFile> OutputFile::create(const std::string& path) {
  FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (fd.get() < 0) return last_error("cannot create", path);
  return OutputFile(std::move(fd), path);
}

Result<OutputFile> OutputFile::create_new(const std::string& path, mode_t mode) {
  FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (fd.get() < 0) return last_error("cannot create", path);
  return OutputFile(std::move(fd), path);
}

Result<void> OutputFile::write(std::string_view bytes) {
  assert(fd_.get() >= 0);
  size_ += bytes.size();
  return write_all(fd_.get(), bytes, path_);
}

Result<void> OutputFile::write_at(std::string_view bytes, std::uint64_t offset) {
  assert(fd_.get() >= 0);
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0) {
      if (errno == EINTR) continue;
      return last_error("cannot write", path_);
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

Result<void> OutputFile::read_at(std::span<char> out, std::uint64_t offset) const {
  while (!out.empty()) {
    const ssize_t n = ::pread(fd_.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return last_error("cannot read", path_);
    if (n == 0)
      return error(ErrorCode::kIo, path_ + " was changed by another program while it was in use");
    out = out.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

void OutputFile::prefetch(std::uint64_t offset, std::uint64_t size) const noexcept {
  ::posix_fadvise(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(size),
                  POSIX_FADV_WILLNEED);
}

Result<void> OutputFile::cut() {
  if (::ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0)
    return last_error("cannot truncate", path_);
  return {};
}

Result<void> OutputFile::write_back(std::uint64_t least) {
  if (size_ - write_back_begun_ < least) return {};
  const auto range = [&](std::uint64_t from, std::uint64_t end, unsigned flags) -> Result<void> {
    if (from == end || ::sync_file_range(fd_.get(), static_cast<off_t>(from),
                                         static_cast<off_t>(end - from), flags) == 0) {
      return {};
    }
    // The kernel reports these once, so sync() might not report them again. Other errors mean that
    // the call is not supported here; then only sync() writes back.
    const bool failed = errno == EIO || errno == ENOSPC || errno == EDQUOT;
    return failed ? Result<void>(last_error("cannot write", path_)) : Result<void>{};
  };
  const std::uint64_t before = std::exchange(write_back_begun_, size_);
  assert(before <= size_);
  return range(before, size_, SYNC_FILE_RANGE_WRITE).and_then([&] {
    return range(0, before, SYNC_FILE_RANGE_WAIT_BEFORE);
  });
}

Result<void> OutputFile::sync() {
  return sync_file(fd_.get(), path_);
}

Result<TemporaryFile::Created> TemporaryFile::create(const std::string& target) {
  std::random_device random;
  const std::string path =
      fmt::format("{}.tmp-{:04x}{:08x}", target, random() & 0xffff, random() & 0xffffffff);
  auto& all = temporary_files();
  const MutexLock guard(all.lock);
  auto file = OutputFile::create_new(path);
  if (!file) return tl::unexpected(file.error());
  TemporaryFile name(path, target);
  all.paths.insert(path);
  return Created{std::move(name), std::move(*file)};
}

Result<void> TemporaryFile::publish() {
  assert(!path_.empty());
  auto& all = temporary_files();
  {
    const MutexLock guard(all.lock);
    if (std::rename(path_.c_str(), target_.c_str()) != 0)
      return last_error("cannot rename " + path_ + " to", target_);
    all.paths.erase(path_);
    path_.clear();
  }
  return sync_parent(target_);
}

void TemporaryFile::remove() {
  auto& all = temporary_files();
  const MutexLock guard(all.lock);
  ::unlink(path_.c_str());
  all.paths.erase(path_);
}

void TemporaryFile::remove_all_and_end(const std::function<void()>& end) {
  auto& all = temporary_files();
  const MutexLock guard(all.lock);
  for (const auto& path : all.paths)
    ::unlink(path.c_str());
  end();
  std::abort();
}

Result<InputFile> InputFile::open(const std::string& path) {
  // O_NONBLOCK: opening a pipe would wait for a writer.
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return last_error("cannot open", path);
  struct stat status;
  if (::fstat(fd.get(), &status) != 0) return last_error("cannot read", path);
  if (S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    return last_error("cannot read", path);
  }
  if (!S_ISREG(status.st_mode))
    return error(ErrorCode::kInvalidArgument, path + " is not a regular file");
  return InputFile(std::move(fd), path);
}

Result<std::size_t> InputFile::read_at(char* buffer, std::size_t size, std::uint64_t offset) const {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n =
        ::pread(fd_.get(), buffer + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0) {
      if (errno == EINTR) continue;
      return last_error("cannot read", path_);
    }
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

bool InputFile::is_current() const {
  struct stat mine, named;
  return ::fstat(fd_.get(), &mine) == 0 && ::stat(path_.c_str(), &named) == 0 &&
         mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

Result<std::uint64_t> InputFile::size() const {
  struct stat status;
  if (::fstat(fd_.get(), &status) != 0) return last_error("cannot read", path_);
  return static_cast<std::uint64_t>(status.st_size);
}

Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  auto file = InputFile::open(path);
  if (!file) return tl::unexpected(file.error());
  const auto size = file->size();
  if (!size) return tl::unexpected(size.error());
  std::string contents(std::min<std::uint64_t>(max_bytes, *size) + 1, '\0');
  auto n = file->read_at(contents.data(), contents.size(), 0);
  if (!n) return tl::unexpected(n.error());
  if (*n > max_bytes) {
    return error(ErrorCode::kCorrupt,
                 path + " is larger than " + std::to_string(max_bytes) + " bytes");
  }
  contents.resize(*n);
  return contents;
}

Result<void> sync_directory(const std::string& path) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return last_error("cannot open directory", path);
  if (::fsync(fd.get()) != 0) return last_error("cannot sync directory", path);
  return {};
}

Result<void> publish_file(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0)
    return last_error("cannot rename " + from + " to", to);
  return sync_parent(to);
}

Result<OutputFile> OutputFile::replace(const std::string& path, std::string_view contents,
                                       mode_t mode) {
  const std::string temporary = path + ".tmp";
  // Do not reuse a file left by a crash: it has its own mode, and may be open elsewhere.
  if (::unlink(temporary.c_str()) != 0 && errno != ENOENT)
    return last_error("cannot remove", temporary);
  auto file = create_new(temporary, mode);
  if (!file) return file;
  const auto published = file->write(contents).and_then([&] { return file->sync(); }).and_then([&] {
    return publish_file(temporary, path);
  });
  if (!published) return tl::unexpected(published.error());
  file->path_ = path;
  return file;
}

Result<void> replace_file(const std::string& path, std::string_view contents, mode_t mode) {
  return OutputFile::replace(path, contents, mode).map([](const OutputFile&) {});
}

}  // namespace trawl
