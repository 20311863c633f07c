#include "filter/blocked/spool_folder.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace trawl {

namespace {

constexpr std::string_view kNameStart = "range-";
constexpr std::string_view kNameEnd = ".keys";

bool is_spool_file(std::string_view name) {
  if (!name.starts_with(kNameStart) || !name.ends_with(kNameEnd)) return false;
  if (name.size() <= kNameStart.size() + kNameEnd.size()) return false;
  name.remove_prefix(kNameStart.size());
  name.remove_suffix(kNameEnd.size());
  return std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; });
}

void remove_spool_files(const std::string& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> ours;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    if (is_spool_file(it->path().filename().native()) &&
        it->symlink_status(ignored).type() == std::filesystem::file_type::regular) {
      ours.push_back(it->path());
    }
  }
  for (const auto& file : ours) {
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
  }
}

std::uint64_t sum_of(std::span<const Fingerprint> keys) {
  std::uint64_t sum = 0;
  for (const Fingerprint key : keys)
    sum += key.high ^ key.low;
  return sum;
}

constexpr std::size_t kWordsPerKey = sizeof(Fingerprint) / sizeof(std::uint64_t);

// False if `path` was removed, or is another folder by now.
bool is_still_at(int fd, const std::string& path) {
  struct stat opened, there;
  return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &there) == 0 &&
         opened.st_dev == there.st_dev && opened.st_ino == there.st_ino;
}

// Makes the folder unless it is there, and locks it.
Result<FileDescriptor> lock_folder(const std::string& path) {
  while (true) {
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
      return tl::unexpected(system_error(errno, "cannot make the spool folder " + path));
    FileDescriptor lock(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (lock.get() < 0) {
      if (errno == ENOTDIR) {
        return fail(ErrorCode::kAlreadyExists,
                    path + " is needed as the spool folder, but is a file: move it away");
      }
      return tl::unexpected(system_error(errno, "cannot open the spool folder " + path));
    }
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) {
        return fail(ErrorCode::kInUse,
                    path + " is in use: another builder is making the same file");
      }
      return tl::unexpected(system_error(errno, "cannot lock the spool folder " + path));
    }
    // Its owner may have removed it before it could be locked.
    if (is_still_at(lock.get(), path)) return lock;
  }
}

}  // namespace

bool remove_spool(const std::string& folder) {
  remove_spool_files(folder);
  return ::rmdir(folder.c_str()) == 0 || errno == ENOENT;
}

Result<SpoolFolder> SpoolFolder::create(std::string path, std::uint64_t ranges,
                                        std::uint64_t buffer_bytes) {
  auto lock = lock_folder(path);
  if (!lock) return tl::unexpected(lock.error());
  remove_spool_files(path);
  const std::size_t buffer_keys = buffer_bytes / sizeof(Fingerprint);
  auto buffers = WordArray::allocate(ranges * buffer_keys * kWordsPerKey, "the spool");
  if (!buffers) return tl::unexpected(buffers.error());
  return SpoolFolder(std::move(path), std::move(*lock), std::move(*buffers), ranges, buffer_keys);
}

SpoolFolder::SpoolFolder(std::string path, FileDescriptor lock, WordArray buffers,
                         std::uint64_t ranges, std::size_t buffer_keys)
    : path_(std::move(path)),
      lock_(std::move(lock)),
      buffers_(std::move(buffers)),
      ranges_(ranges),
      buffer_keys_(buffer_keys) {
  auto* next = reinterpret_cast<Fingerprint*>(buffers_->data());
  for (Range& range : ranges_) {
    range.buffer = next;
    next += buffer_keys;
  }
}

SpoolFolder::~SpoolFolder() {
  if (lock_.get() < 0) return;  // moved from
  remove_spool(path_);
}

std::string SpoolFolder::file_of(std::uint64_t range) const {
  return fmt::format("{}/{}{:03}{}", path_, kNameStart, range, kNameEnd);
}

std::uint64_t SpoolFolder::keys() const noexcept {
  std::uint64_t all = 0;
  for (const Range& range : ranges_)
    all += range.written + range.buffered;
  return all;
}

Result<void> SpoolFolder::flush(std::uint64_t number) {
  Range& range = ranges_[number];
  if (range.buffered == 0) return {};
  if (!range.file) {
    auto file = OutputFile::create(file_of(number));
    if (!file) return tl::unexpected(file.error());
    range.file.emplace(std::move(*file));
  }
  const std::span<const Fingerprint> keys(range.buffer, range.buffered);
  auto written = range.file->write({reinterpret_cast<const char*>(keys.data()), keys.size_bytes()});
  if (!written) return written;
  range.written += keys.size();
  range.sum += sum_of(keys);
  range.buffered = 0;
  return {};
}

Result<void> SpoolFolder::finish_adding() {
  for (std::uint64_t number = 0; number < ranges_.size(); ++number) {
    if (auto flushed = flush(number); !flushed) return flushed;
    ranges_[number].file.reset();
  }
  buffers_.reset();
  return {};
}

Result<void> SpoolFolder::take(std::uint64_t number, std::span<Fingerprint> buffer,
                               const Use& use) {
  const Range& range = ranges_[number];
  if (range.written == 0) return {};
  const auto file = InputFile::open(file_of(number));
  if (!file) return tl::unexpected(file.error());
  ::posix_fadvise(file->descriptor(), 0, 0, POSIX_FADV_SEQUENTIAL);
  std::uint64_t done = 0, sum = 0;
  while (done < range.written) {
    const auto wanted = std::min<std::uint64_t>(buffer.size(), range.written - done);
    const auto read = file->read_at(reinterpret_cast<char*>(buffer.data()),
                                    wanted * sizeof(Fingerprint), done * sizeof(Fingerprint));
    if (!read) return tl::unexpected(read.error());
    const auto keys = std::span<const Fingerprint>(buffer).first(*read / sizeof(Fingerprint));
    use(keys);
    sum += sum_of(keys);
    done += keys.size();
    if (keys.size() < wanted) break;
  }
  if (done != range.written || sum != range.sum)
    return fail(ErrorCode::kIo, file->path() + " was changed since it was written");
  std::error_code ignored;  // its space is wanted for the filter; the rest goes at the end
  std::filesystem::remove(file->path(), ignored);
  return {};
}

}  // namespace trawl
