#include "crawler/output/line_file.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace trawl {

namespace {

// The offset at which the last complete line ends.
Result<std::uint64_t> end_of_whole_lines(int fd, std::uint64_t size, const std::string& path) {
  char block[64 * 1024];
  for (std::uint64_t end = size; end > 0;) {
    const std::uint64_t begin = end - std::min<std::uint64_t>(end, sizeof block);
    const ssize_t n = ::pread(fd, block, end - begin, static_cast<off_t>(begin));
    if (n != static_cast<ssize_t>(end - begin)) {
      return tl::unexpected(system_error(n < 0 ? errno : EIO, "cannot read " + path));
    }
    const std::string_view bytes(block, end - begin);
    if (const auto newline = bytes.rfind('\n'); newline != std::string_view::npos) {
      return begin + newline + 1;
    }
    end = begin;
  }
  return 0;
}

Error not_regular(const std::string& path, std::string_view what) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("{} is {}: move it away, or choose another output.directory", path, what)};
}

// Opened for appending, with the flags `more` added, and locked.
Result<FileDescriptor> open_locked(const std::string& path, int more) {
  // O_RDWR: to find the end of the last complete line. O_NONBLOCK: opening a pipe would block.
  constexpr int kFlags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  FileDescriptor fd(::open(path.c_str(), kFlags | more, 0644));
  if (fd.get() < 0 && errno == ELOOP) return tl::unexpected(not_regular(path, "a symbolic link"));
  struct stat status {};
  if (fd.get() < 0 || ::fstat(fd.get(), &status) != 0) {
    return tl::unexpected(system_error(errno, "cannot open " + path));
  }
  if (!S_ISREG(status.st_mode)) return tl::unexpected(not_regular(path, "not a regular file"));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (errno != EWOULDBLOCK) return tl::unexpected(system_error(errno, "cannot lock " + path));
  return error(ErrorCode::kInUse, path +
                                      " is being written by another crawl: choose another "
                                      "output.directory, or stop that crawl with trawl stop");
}

}  // namespace

Result<LineFile> LineFile::open(const std::filesystem::path& file) {
  std::string path = file.string();
  auto fd = open_locked(path, O_CREAT);
  if (!fd) return tl::unexpected(fd.error());
  struct stat status {};
  // Again, under the lock.
  if (::fstat(fd->get(), &status) != 0) {
    return tl::unexpected(system_error(errno, "cannot open " + path));
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const auto end = end_of_whole_lines(fd->get(), size, path);
  if (!end) return tl::unexpected(end.error());
  if (*end != size && ::ftruncate(fd->get(), static_cast<off_t>(*end)) != 0) {
    return tl::unexpected(
        system_error(errno, "cannot remove the incomplete line at the end of " + path));
  }
  return LineFile(std::move(*fd), std::move(path), *end, size - *end);
}

Result<std::uint64_t> LineFile::probe(const std::filesystem::path& file) {
  const std::string path = file.string();
  const auto fd = open_locked(path, 0);
  if (!fd && fd.error().code == ErrorCode::kNotFound) return 0;
  if (!fd) return tl::unexpected(fd.error());
  struct stat status {};
  if (::fstat(fd->get(), &status) != 0) {
    return tl::unexpected(system_error(errno, "cannot open " + path));
  }
  return static_cast<std::uint64_t>(status.st_size);
}

Result<void> LineFile::append(std::string_view lines) {
  const OneAtATime::Use use(using_);
  if (lines.empty()) return {};
  if (torn_) {
    if (auto cut = cut_back(size_); !cut) return cut;
  }
  synced_ = false;
  torn_ = true;
  if (auto written = write_all(fd_.get(), lines, path_); !written) {
    // What was written of it would be glued to the next line. If that fails as well, the file stays
    // torn, and the next append() tries again.
    [[maybe_unused]] const auto cut = cut_back(size_);
    return written;
  }
  torn_ = false;
  size_ += lines.size();
  return {};
}

Result<void> LineFile::cut_back(std::uint64_t size) {
  const OneAtATime::Use use(using_);
  if (!torn_ && size == size_) return {};
  torn_ = true;
  synced_ = false;
  size_ = size;
  if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) {
    return tl::unexpected(system_error(errno, "cannot remove the last lines of " + path_));
  }
  torn_ = false;
  return {};
}

Result<void> LineFile::sync() {
  const OneAtATime::Use use(using_);
  if (synced_) return {};
  if (auto synced = sync_file(fd_.get(), path_); !synced) return synced;
  synced_ = true;
  return {};
}

}  // namespace trawl
