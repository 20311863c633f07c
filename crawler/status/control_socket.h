// ControlSocket: the Unix socket `control.sock` in a state directory, through which the commands of
// the same user steer a crawl. It is bound and connected through /proc/self/fd, since the path of a
// Unix socket may have only 107 bytes.
#pragma once

#include <filesystem>
#include <string>

#include "trawl/result.h"

#include "base/file_io.h"

namespace trawl {

class ControlSocket {
 public:
  // Listens, with mode 0600. The caller has locked the directory, so that a socket that is there
  // was left by a crash; it is replaced. Errors: kIo, kPermission.
  static Result<ControlSocket> open(const std::filesystem::path& state_dir);
  ControlSocket(ControlSocket&&) = default;
  ~ControlSocket();  // removes the socket

  int descriptor() const { return socket_.get(); }

  static std::filesystem::path path(const std::filesystem::path& state_dir);
  // A short name of the socket in a directory that is open as `directory`.
  static std::string short_path(const FileDescriptor& directory);
  // Whether something else than a socket is in its place.
  static bool is_blocked(const FileDescriptor& directory);
  // Opens the directory for short_path(). Errors: kNotFound and those of the system.
  static Result<FileDescriptor> open_directory(const std::filesystem::path& state_dir);

 private:
  ControlSocket(FileDescriptor directory, FileDescriptor socket)
      : directory_(std::move(directory)), socket_(std::move(socket)) {}
  FileDescriptor directory_;
  FileDescriptor socket_;
};

}  // namespace trawl
