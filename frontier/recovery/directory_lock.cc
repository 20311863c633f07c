#include "frontier/recovery/directory_lock.h"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace trawl {

namespace {

Error in_use(int fd, const std::filesystem::path& directory) {
  char holder[32] = {};
  const ssize_t n = ::pread(fd, holder, sizeof holder - 1, 0);
  return {ErrorCode::kInUse,
          fmt::format("the state directory {} is in use by another process{}: stop it, or "
                      "choose another directory",
                      directory.string(), n > 0 ? fmt::format(" (pid {})", holder) : "")};
}

Result<void> lock(int fd, const std::filesystem::path& directory, const std::string& path) {
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return {};
  if (errno != EWOULDBLOCK) return tl::unexpected(system_error(errno, "cannot lock " + path));
  return tl::unexpected(in_use(fd, directory));
}

// Whether `path` is still the locked file, and was not removed or replaced.
bool is_still(int fd, const std::string& path) {
  struct stat ours {
  }, theirs{};
  return ::fstat(fd, &ours) == 0 && ::stat(path.c_str(), &theirs) == 0 &&
         ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
}

}  // namespace

// Closing the file is not enough: children of fork() have it open too. In them the lock stays the
// parent's.
DirectoryLock::~DirectoryLock() {
  if (fd_.get() >= 0 && generation_ == fork_generation()) ::flock(fd_.get(), LOCK_UN);
}

Result<DirectoryLock> DirectoryLock::acquire(const std::filesystem::path& directory) {
  const std::string path = (directory / "LOCK").string();
  FileDescriptor fd;
  do {
    fd = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (fd.get() < 0) return tl::unexpected(system_error(errno, "cannot create " + path));
    if (auto locked = lock(fd.get(), directory, path); !locked)
      return tl::unexpected(locked.error());
  } while (!is_still(fd.get(), path));
  // Only for other processes' messages, so errors are ignored: a full disk must not prevent
  // opening.
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(fd.get(), 0) == 0) {
    [[maybe_unused]] const ssize_t written = ::pwrite(fd.get(), pid.data(), pid.size(), 0);
  }
  return DirectoryLock(std::move(fd));
}

Result<std::optional<DirectoryLock>> DirectoryLock::share(const std::filesystem::path& directory) {
  const std::string path = (directory / "LOCK").string();
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.get() < 0) return std::nullopt;
  if (::flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return DirectoryLock(std::move(fd));
  if (errno == EWOULDBLOCK) return tl::unexpected(in_use(fd.get(), directory));
  return std::nullopt;
}

}  // namespace trawl
