#include "crawler/output/line_file.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace trawl {

namespace {

// Where the last whole line ends.
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

}  // namespace

Result<LineFile> LineFile::open(const std::filesystem::path& file) {
  std::string path = file.string();
  // Read as well, for the end of the last whole line.
  FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  struct stat status {};
  if (fd.get() < 0 || ::fstat(fd.get(), &status) != 0) {
    return tl::unexpected(system_error(errno, "cannot open " + path));
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::kInvalidArgument,
                path + " is no regular file: choose another output.directory");
  }
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return tl::unexpected(system_error(errno, "cannot lock " + path));
    return fail(ErrorCode::kInUse, path +
                                       " is being written by another crawl: choose another "
                                       "output.directory");
  }
  // Again, now that nobody else writes.
  if (::fstat(fd.get(), &status) != 0) {
    return tl::unexpected(system_error(errno, "cannot open " + path));
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const auto end = end_of_whole_lines(fd.get(), size, path);
  if (!end) return tl::unexpected(end.error());
  if (*end != size && ::ftruncate(fd.get(), static_cast<off_t>(*end)) != 0) {
    return tl::unexpected(system_error(errno, "cannot cut the half line at the end of " + path));
  }
  return LineFile(std::move(fd), std::move(path), *end, size - *end);
}

Result<void> LineFile::append(std::string_view lines) {
  if (lines.empty()) return {};
  if (torn_) {
    if (auto cut = cut_back(size_); !cut) return cut;
  }
  synced_ = false;
  torn_ = true;
  if (auto written = write_all(fd_.get(), lines, path_); !written) {
    // What was written of it would be glued to the next line.
    [[maybe_unused]] const auto cut = cut_back(size_);
    return written;
  }
  torn_ = false;
  size_ += lines.size();
  return {};
}

Result<void> LineFile::cut_back(std::uint64_t size) {
  if (!torn_ && size == size_) return {};
  torn_ = true;
  synced_ = false;
  size_ = size;
  if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) {
    return tl::unexpected(system_error(errno, "cannot take back the last lines of " + path_));
  }
  torn_ = false;
  return {};
}

Result<void> LineFile::sync() {
  if (synced_) return {};
  if (::fdatasync(fd_.get()) != 0) {
    return tl::unexpected(system_error(errno, "cannot sync " + path_));
  }
  synced_ = true;
  return {};
}

}  // namespace trawl
