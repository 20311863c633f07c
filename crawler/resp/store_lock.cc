#include "crawler/resp/store_lock.h"

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/safe_text.h"

namespace trawl::resp {

Result<StoreLock> StoreLock::acquire(const std::filesystem::path& directory) {
  const std::string path = (directory / "LOCK").string();
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.get() < 0) return tl::unexpected(system_error(errno, "cannot create " + path));
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return tl::unexpected(system_error(errno, "cannot lock " + path));
    char holder[32] = {};
    const ssize_t n = ::pread(file.get(), holder, sizeof holder - 1, 0);
    return error(ErrorCode::kInUse,
                 fmt::format("the directory {} is served by another process{}: stop it, or choose "
                             "another directory",
                             directory.string(),
                             n > 0 ? fmt::format(" (pid {})", escape_unsafe(holder)) : ""));
  }
  // Only for that message, so errors are ignored.
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(file.get(), 0) == 0) {
    [[maybe_unused]] const ssize_t written = ::pwrite(file.get(), pid.data(), pid.size(), 0);
  }
  return StoreLock(std::move(file));
}

}  // namespace trawl::resp
