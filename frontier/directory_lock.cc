#include "frontier/directory_lock.h"

#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

namespace trawl {

Result<DirectoryLock> DirectoryLock::acquire(const std::filesystem::path& directory) {
  const std::string path = (directory / "LOCK").string();
  FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (fd.get() < 0) return tl::unexpected(system_error(errno, "cannot create " + path));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return tl::unexpected(system_error(errno, "cannot lock " + path));
    char holder[32] = {};
    const ssize_t n = ::pread(fd.get(), holder, sizeof holder - 1, 0);
    return fail(ErrorCode::kInUse,
                fmt::format("the state directory {} is in use by another process{}: stop it, or "
                            "choose another directory",
                            directory.string(), n > 0 ? fmt::format(" (pid {})", holder) : ""));
  }
  // For the message above only; a full disk must not keep anyone from opening the directory.
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(fd.get(), 0) == 0) {
    [[maybe_unused]] const ssize_t written = ::pwrite(fd.get(), pid.data(), pid.size(), 0);
  }
  return DirectoryLock(std::move(fd));
}

}  // namespace trawl
