// The C library's calls that change files, as FileFaults has them. The dynamic linker prefers those
// of the executable to the library's own, for shared libraries too.
#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/support/file_faults_disk.h"

namespace trawl::test::faults {
namespace {

// The path below a directory that is open, as the *at functions take it.
std::string path_at(int directory, const char* path) {
  if (path[0] == '/' || directory == AT_FDCWD) return path;
  char name[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(directory);
  const ssize_t n = ::readlink(link.c_str(), name, sizeof name);
  return n < 0 ? std::string(path) : std::string(name, static_cast<std::size_t>(n)) + "/" + path;
}

template <class Open>
int watched_open(const std::string& path, int flags, const Open& open_it) {
  const Watched disk;
  if (!disk) return open_it();
  if (!disk->holds(path)) {
    const int fd = open_it();
    forget_descriptor(*disk, fd);
    return fd;
  }
  const bool creates = (flags & O_CREAT) != 0 && !exists(path);
  if (creates || (flags & O_TRUNC)) {
    const Verdict verdict = judge(*disk, "create", path);
    if (verdict != Verdict::kPass) {
      const int error = errno;
      if (happens(*disk, verdict)) {
        TRAWL_REAL(close);
        const int fd = open_it();
        note_open(*disk, fd, path, flags, creates);
        forget_descriptor(*disk, fd);
        real_close(fd);
      }
      errno = error;
      return -1;
    }
  }
  const int fd = open_it();
  note_open(*disk, fd, path, flags, creates);
  return fd;
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

// A slow disk. Other files are not held up meanwhile.
void dawdle(int fd) {
  std::chrono::milliseconds time(0);
  {
    const Watched disk;
    if (disk && disk->slow.count() > 0 && file_of(*disk, fd)) time = disk->slow;
  }
  if (time.count() > 0) std::this_thread::sleep_for(time);
}

// A write of `size` bytes: `write_it` writes the first so many of them.
template <class Write>
ssize_t watched_write(int fd, std::size_t size, const Write& write_it) {
  dawdle(fd);
  const Watched disk;
  const FilePointer file = disk ? file_of(*disk, fd) : nullptr;
  if (!file) return write_it(size);
  const Verdict verdict = judge(*disk, "write", file->path);
  if (verdict == Verdict::kFail) return -1;
  file->dirty = true;
  if (verdict == Verdict::kPass) return write_it(size);
  const int error = errno;
  const std::size_t part = disk->random() % (size + 1);
  if (part > 0) [[maybe_unused]]
    const ssize_t done = write_it(part);
  errno = error;
  return -1;
}

int watched_sync(int fd, const char* what) {
  dawdle(fd);
  const Watched disk;
  const FilePointer file = disk ? file_of(*disk, fd) : nullptr;
  if (!file) {
    TRAWL_REAL(fsync);
    return real_fsync(fd);
  }
  if (judge(*disk, what, file->path) != Verdict::kPass) return -1;
  if (file->directory) {
    std::erase_if(disk->changes, [&](const auto& c) { return c.directory == file->path; });
  } else {
    struct stat status;
    if (::fstat(fd, &status) == 0) file->synced = static_cast<std::uint64_t>(status.st_size);
    file->dirty = false;
  }
  return 0;
}

template <class Truncate>
int watched_truncate(int fd, std::uint64_t length, const Truncate& truncate_it) {
  const Watched disk;
  const FilePointer file = disk ? file_of(*disk, fd) : nullptr;
  if (!file) return truncate_it();
  const Verdict verdict = judge(*disk, "truncate", file->path);
  const int error = errno;
  if (happens(*disk, verdict)) {
    file->synced = std::min(file->synced, length);
    file->dirty = true;
    const int done = truncate_it();
    if (verdict == Verdict::kPass) return done;
  }
  errno = error;
  return -1;
}

// One that changes a directory: `change_it` does it.
template <class Note, class Change>
int watched_change(const char* what, const std::string& path, const Note& note,
                   const Change& change_it) {
  const Watched disk;
  if (!disk || !disk->holds(path)) return change_it();
  const Verdict verdict = judge(*disk, what, path);
  const int error = errno;
  if (happens(*disk, verdict)) {
    std::string saved = note.before(*disk);
    const int done = change_it();
    if (done == 0) note.after(*disk, std::move(saved));
    if (verdict == Verdict::kPass) return done;
  }
  errno = error;
  return -1;
}

struct Creation {
  std::string path;
  std::string before(Disk&) const { return {}; }
  void after(Disk& disk, std::string) const {
    note_change(disk, {.kind = DirectoryChange::kCreated, .path = path});
  }
};

struct Removal {
  std::string path;
  std::string before(Disk& disk) const { return disk.power ? bury(disk, path) : std::string(); }
  void after(Disk& disk, std::string saved) const {
    disk.files.erase(path);
    if (saved.empty()) return;  // a directory: only whole trees that nobody needs are removed
    note_change(disk, {.kind = DirectoryChange::kRemoved, .path = path, .saved = std::move(saved)});
  }
};

struct Renaming {
  std::string from;
  std::string to;
  std::string before(Disk& disk) const {
    return disk.power && exists(to) ? bury(disk, to) : std::string();
  }
  void after(Disk& disk, std::string saved) const {
    disk.files.erase(to);
    if (auto known = disk.files.extract(from)) {
      known.mapped()->path = to;
      known.key() = to;
      disk.files.insert(std::move(known));
    }
    note_change(
        disk,
        {.kind = DirectoryChange::kRenamed, .path = to, .from = from, .saved = std::move(saved)});
  }
};

}  // namespace
}  // namespace trawl::test::faults

using namespace trawl::test::faults;

extern "C" {

int open(const char* path, int flags, ...) {
  TRAWL_REAL(open);
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return watched_open(path, flags, [&] { return real_open(path, flags, mode); });
}

int open64(const char* path, int flags, ...) {
  TRAWL_REAL(open64);
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return watched_open(path, flags, [&] { return real_open64(path, flags, mode); });
}

int close(int fd) {
  TRAWL_REAL(close);
  if (const Watched disk; disk) forget_descriptor(*disk, fd);
  return real_close(fd);
}

int fclose(std::FILE* stream) {
  TRAWL_REAL(fclose);
  if (const Watched disk; disk) forget_descriptor(*disk, ::fileno(stream));
  return real_fclose(stream);
}

ssize_t write(int fd, const void* bytes, std::size_t size) {
  TRAWL_REAL(write);
  return watched_write(fd, size, [&](std::size_t n) { return real_write(fd, bytes, n); });
}

ssize_t pwrite(int fd, const void* bytes, std::size_t size, off_t offset) {
  TRAWL_REAL(pwrite);
  return watched_write(fd, size, [&](std::size_t n) { return real_pwrite(fd, bytes, n, offset); });
}

ssize_t pwrite64(int fd, const void* bytes, std::size_t size, off64_t offset) {
  TRAWL_REAL(pwrite64);
  return watched_write(fd, size,
                       [&](std::size_t n) { return real_pwrite64(fd, bytes, n, offset); });
}

ssize_t writev(int fd, const struct iovec* parts, int count) {
  TRAWL_REAL(writev);
  // Torn between two parts at most: whole or not at all here.
  return watched_write(
      fd, 1, [&](std::size_t n) { return n == 0 ? ssize_t{0} : real_writev(fd, parts, count); });
}

int fsync(int fd) {
  return watched_sync(fd, "sync");
}

int fdatasync(int fd) {
  return watched_sync(fd, "sync");
}

// Neither changes what a file holds nor promises anything about it.
int sync_file_range(int fd, off64_t offset, off64_t size, unsigned flags) {
  TRAWL_REAL(sync_file_range);
  {
    const Watched disk;
    if (disk && file_of(*disk, fd)) return 0;
  }
  return real_sync_file_range(fd, offset, size, flags);
}

int ftruncate(int fd, off_t length) noexcept {
  TRAWL_REAL(ftruncate);
  return watched_truncate(fd, static_cast<std::uint64_t>(length),
                          [&] { return real_ftruncate(fd, length); });
}

int ftruncate64(int fd, off64_t length) noexcept {
  TRAWL_REAL(ftruncate64);
  return watched_truncate(fd, static_cast<std::uint64_t>(length),
                          [&] { return real_ftruncate64(fd, length); });
}

int fallocate(int fd, int mode, off_t offset, off_t size) {
  TRAWL_REAL(fallocate);
  {
    const Watched disk;
    const FilePointer file = disk ? file_of(*disk, fd) : nullptr;
    if (file && judge(*disk, "allocate", file->path) != Verdict::kPass) return -1;
    // Room that nobody sees.
    if (file && (mode & FALLOC_FL_KEEP_SIZE) != 0) return 0;
  }
  return real_fallocate(fd, mode, offset, size);
}

int posix_fallocate(int fd, off_t offset, off_t size) {
  TRAWL_REAL(posix_fallocate);
  {
    const Watched disk;
    const FilePointer file = disk ? file_of(*disk, fd) : nullptr;
    if (file && judge(*disk, "allocate", file->path) != Verdict::kPass) return errno;
  }
  return real_posix_fallocate(fd, offset, size);
}

int rename(const char* from, const char* to) noexcept {
  TRAWL_REAL(rename);
  return watched_change("rename to", to, Renaming{from, to}, [&] { return real_rename(from, to); });
}

int link(const char* from, const char* to) noexcept {
  TRAWL_REAL(link);
  return watched_change("link", to, Creation{to}, [&] { return real_link(from, to); });
}

int mkdir(const char* path, mode_t mode) noexcept {
  TRAWL_REAL(mkdir);
  if (exists(path)) return real_mkdir(path, mode);
  return watched_change("make directory", path, Creation{path},
                        [&] { return real_mkdir(path, mode); });
}

int unlink(const char* path) noexcept {
  TRAWL_REAL(unlink);
  if (!exists(path)) return real_unlink(path);
  return watched_change("remove", path, Removal{path}, [&] { return real_unlink(path); });
}

int rmdir(const char* path) noexcept {
  TRAWL_REAL(rmdir);
  return watched_change("remove", path, Removal{path}, [&] { return real_rmdir(path); });
}

int remove(const char* path) noexcept {
  TRAWL_REAL(remove);
  if (!exists(path)) return real_remove(path);
  return watched_change("remove", path, Removal{path}, [&] { return real_remove(path); });
}

int unlinkat(int directory, const char* path, int flags) noexcept {
  TRAWL_REAL(unlinkat);
  return watched_change("remove", path_at(directory, path), Removal{path_at(directory, path)},
                        [&] { return real_unlinkat(directory, path, flags); });
}

}  // extern "C"
