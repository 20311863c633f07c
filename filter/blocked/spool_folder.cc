#include "filter/blocked/spool_folder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
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

// Whether `path` is still the folder that `fd` has open.
bool is_still_at(int fd, const std::string& path) {
  struct stat opened, there;
  return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &there) == 0 &&
         opened.st_dev == there.st_dev && opened.st_ino == there.st_ino;
}

// Creates the folder if it does not exist, and locks it.
Result<FileDescriptor> lock_folder(const std::string& path) {
  while (true) {
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
      return tl::unexpected(system_error(errno, "cannot create the spool folder " + path));
    FileDescriptor lock(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (lock.get() < 0) {
      if (errno == ENOTDIR) {
        return error(ErrorCode::kAlreadyExists,
                     path + " must be the spool folder, but is a file: move or remove it");
      }
      return tl::unexpected(system_error(errno, "cannot open the spool folder " + path));
    }
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) {
        return error(
            ErrorCode::kInUse,
            path + " is in use: another process is building the same file; wait for it to end");
      }
      return tl::unexpected(system_error(errno, "cannot lock the spool folder " + path));
    }
    // Its owner may have removed it before it was locked.
    if (is_still_at(lock.get(), path)) return lock;
  }
}

}  // namespace

bool remove_spool(const std::string& folder) {
  remove_spool_files(folder);
  return ::rmdir(folder.c_str()) == 0 || errno == ENOENT;
}

Result<SpoolFolder> SpoolFolder::create(std::string path, std::uint64_t ranges,
                                        std::uint64_t blocks_per_range,
                                        std::uint64_t buffer_bytes) {
  assert(ranges == 0 || (blocks_per_range > 0 && blocks_per_range <= std::uint64_t{1} << 32));
  auto lock = lock_folder(path);
  if (!lock) return tl::unexpected(lock.error());
  remove_spool_files(path);
  const auto block_bits = static_cast<unsigned>(std::bit_width(blocks_per_range - 1));
  const std::uint64_t key_bytes = sizeof(SpooledKey::low) + std::max(1u, (block_bits + 7) / 8);
  SpoolFolder folder(std::move(path), std::move(*lock), ranges, key_bytes, buffer_bytes);
  return folder.begin_adding().map([&] { return std::move(folder); });
}

SpoolFolder::SpoolFolder(std::string path, FileDescriptor lock, std::uint64_t ranges,
                         std::uint64_t key_bytes, std::uint64_t buffer_bytes)
    : path_(std::move(path)),
      lock_(std::move(lock)),
      ranges_(ranges),
      key_bytes_(key_bytes),
      buffer_bytes_(buffer_bytes) {}

Result<void> SpoolFolder::begin_adding() {
  if (ranges_.empty()) return {};
  auto buffers = WordArray::allocate_unchecked(
      ranges_.size() * buffer_bytes_ / sizeof(std::uint64_t), "the spool");
  if (!buffers) return tl::unexpected(buffers.error());
  buffers_.emplace(std::move(*buffers));
  auto* at = reinterpret_cast<char*>(buffers_->data());
  // Adding the last key writes more bytes than it needs.
  const std::uint64_t keys = (buffer_bytes_ - sizeof(SpooledKey::block)) / key_bytes_;
  for (Range& range : ranges_) {
    range.begin = range.next = at;
    range.end = at + keys * key_bytes_;
    at += buffer_bytes_;
  }
  return {};
}

SpoolFolder::~SpoolFolder() {
  if (lock_.get() < 0) return;  // moved from
  remove_spool(path_);
}

std::string SpoolFolder::file_of(std::uint64_t range) const {
  return fmt::format("{}/{}{:03}{}", path_, kNameStart, range, kNameEnd);
}

std::uint64_t SpoolFolder::keys(std::uint64_t number) const noexcept {
  assert(number < ranges_.size());
  const Range& range = ranges_[number];
  return range.written + static_cast<std::uint64_t>(range.next - range.begin) / key_bytes_;
}

std::uint64_t SpoolFolder::keys() const noexcept {
  std::uint64_t bytes = 0, written = 0;
  for (const Range& range : ranges_) {
    bytes += static_cast<std::uint64_t>(range.next - range.begin);
    written += range.written;
  }
  return written + bytes / key_bytes_;
}

Result<void> SpoolFolder::flush(std::uint64_t number) {
  Range& range = ranges_[number];
  assert(range.begin <= range.next && range.next <= range.end);
  if (range.next == range.begin) return {};
  if (!range.file) {
    auto file = OutputFile::create(file_of(number));
    if (!file) return tl::unexpected(file.error());
    range.file.emplace(std::move(*file));
  }
  const std::string_view bytes(range.begin, static_cast<std::size_t>(range.next - range.begin));
  auto written = range.file->write(bytes);
  if (!written) return written;
  range.written += bytes.size() / key_bytes_;
  range.next = range.begin;
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

void SpoolFolder::prefetch(std::uint64_t number) const noexcept {
  if (ranges_[number].written == 0) return;
  if (const auto file = InputFile::open(file_of(number)); file)
    ::posix_fadvise(file->descriptor(), 0, 0, POSIX_FADV_WILLNEED);
}

Result<void> SpoolFolder::take(std::uint64_t number, std::span<char> buffer, const Use& use) {
  Range& range = ranges_[number];
  assert(!range.file && buffer.size() >= sizeof(SpooledKey));  // after finish_adding()
  if (range.written == 0) return {};
  const auto file = InputFile::open(file_of(number));
  if (!file) return tl::unexpected(file.error());
  ::posix_fadvise(file->descriptor(), 0, 0, POSIX_FADV_SEQUENTIAL);
  const std::uint64_t all = range.written * key_bytes_;
  // Reading the last key reads more bytes than it has.
  const std::uint64_t whole = (buffer.size() - sizeof(SpooledKey::block)) / key_bytes_ * key_bytes_;
  const auto block_bits = static_cast<unsigned>(8 * (key_bytes_ - sizeof(SpooledKey::low)));
  const auto block_mask = static_cast<std::uint32_t>((std::uint64_t{1} << block_bits) - 1);
  std::array<Fingerprint, 1024> keys;
  std::uint64_t done = 0, sum = 0;
  while (done < all) {
    const auto wanted = std::min(whole, all - done);
    const auto read = file->read_at(buffer.data(), wanted, done);
    if (!read) return tl::unexpected(read.error());
    if (*read < wanted) break;
    for (std::uint64_t at = 0; at < wanted;) {
      std::size_t n = 0;
      for (; n < keys.size() && at < wanted; ++n, at += key_bytes_) {
        SpooledKey key{};
        std::memcpy(&key.low, buffer.data() + at, sizeof key.low);
        std::memcpy(&key.block, buffer.data() + at + sizeof key.low, sizeof key.block);
        key.block &= block_mask;
        sum += sum_of(key);
        keys[n] = {.high = std::uint64_t{key.block} << (64 - kRangeScaleBits), .low = key.low};
      }
      if (auto used = use({keys.data(), n}); !used) return used;
    }
    done += wanted;
  }
  if (done != all || sum != range.sum)
    return error(ErrorCode::kIo,
                 file->path() + " has changed since it was written: build the filter again");
  range.written = range.sum = 0;
  std::error_code ignored;  // frees its space for the filter; an error here is harmless, as the
                            // folder is removed at the end
  std::filesystem::remove(file->path(), ignored);
  return {};
}

}  // namespace trawl
