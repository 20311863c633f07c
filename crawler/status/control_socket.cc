#include "crawler/status/control_socket.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace trawl {

namespace {
constexpr char kControlSocketName[] = "control.sock";
constexpr char kComingSocketName[] = "control.sock.tmp";
constexpr int kControlBacklog = 128;
}  // namespace

std::filesystem::path ControlSocket::path(const std::filesystem::path& state_dir) {
  return state_dir / kControlSocketName;
}

std::string ControlSocket::short_path(const FileDescriptor& directory) {
  return fmt::format("/proc/self/fd/{}/{}", directory.get(), kControlSocketName);
}

Result<FileDescriptor> ControlSocket::open_directory(const std::filesystem::path& state_dir) {
  FileDescriptor directory(::open(state_dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0)
    return tl::unexpected(system_error(errno, "cannot open " + state_dir.string()));
  return directory;
}

bool ControlSocket::is_blocked(const FileDescriptor& directory) {
  struct stat found {};
  return ::fstatat(directory.get(), kControlSocketName, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
         !S_ISSOCK(found.st_mode);
}

Result<ControlSocket> ControlSocket::open(const std::filesystem::path& state_dir) {
  const auto failed = [&] {
    return tl::unexpected(
        system_error(errno, "cannot make the control socket " + path(state_dir).string()));
  };
  auto directory = open_directory(state_dir);
  if (!directory) return tl::unexpected(directory.error());
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return failed();
  // The file gets the mode of the socket: it never exists with another one.
  if (::fchmod(socket.get(), 0600) != 0) return failed();
  if (is_blocked(*directory)) {
    errno = EEXIST;
    return failed();
  }
  ::unlinkat(directory->get(), kComingSocketName, 0);
  sockaddr_un place{};
  place.sun_family = AF_UNIX;
  const std::string name = fmt::format("/proc/self/fd/{}/{}", directory->get(), kComingSocketName);
  std::memcpy(place.sun_path, name.c_str(), name.size() + 1);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0)
    return failed();
  // It gets its name when it listens: a program that finds it can connect.
  if (::listen(socket.get(), kControlBacklog) != 0 ||
      ::renameat(directory->get(), kComingSocketName, directory->get(), kControlSocketName) != 0) {
    return failed();
  }
  return ControlSocket(std::move(*directory), std::move(socket));
}

ControlSocket::~ControlSocket() {
  if (directory_.get() >= 0) ::unlinkat(directory_.get(), kControlSocketName, 0);
}

}  // namespace trawl
