// A frame begins with the size of its claims and a checksum of that, so that it can be found in a
// damaged file: if an intact frame follows a broken one, the file was damaged; otherwise the broken
// one is what a crash left of the last commit, and is removed. Checksums depend on the offset and
// on the file's salt, so that nothing that was copied or left over passes for a frame.
#include "crawler/output/claim_log.h"

#include <cerrno>
#include <cstring>
#include <random>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/coding.h"

namespace trawl {

namespace {

constexpr std::string_view kMagic = "TRAWLCLM";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kKeyOffset = 24;
constexpr std::size_t kHeader = kKeyOffset + sizeof(KeyedHash::Key) + sizeof(std::uint64_t);
constexpr std::size_t kCheckedHeader = kHeader - sizeof(std::uint64_t);
constexpr std::size_t kFrameHead = 16;
constexpr std::size_t kMaxFile = std::size_t{1} << 30;

std::uint64_t checksum(std::string_view bytes, std::uint64_t seed = 0) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

// Whether a crash left this of a header, which is written at once: a part of it, perhaps none, and
// after a power loss zeros behind it. No frame is written before the header is whole.
bool is_unfinished(std::string_view file) {
  const std::string_view written = file.substr(0, file.find_last_not_of('\0') + 1);
  return written.size() < kHeader && kMagic.starts_with(written.substr(0, kMagic.size()));
}

std::string frame_head(std::string_view claims, std::uint64_t seed) {
  std::string head;
  put_fixed(head, static_cast<std::uint32_t>(claims.size()));
  put_fixed(head, static_cast<std::uint32_t>(checksum(head, seed)));
  put_fixed(head, checksum(claims, seed));
  return head;
}

// The claims of the intact frame that `bytes` begins with, or a null view.
std::string_view claims_of_frame(std::string_view bytes, std::uint64_t seed) {
  if (bytes.size() < kFrameHead) return {};
  Decoder head(bytes.substr(0, kFrameHead));
  const auto size = head.fixed<std::uint32_t>();
  if (head.fixed<std::uint32_t>() !=
      static_cast<std::uint32_t>(checksum(bytes.substr(0, sizeof size), seed)))
    return {};
  if (size == 0 || size > bytes.size() - kFrameHead) return {};
  const std::string_view claims = bytes.substr(kFrameHead, size);
  return head.fixed<std::uint64_t>() == checksum(claims, seed) ? claims : std::string_view();
}

bool has_frame_after(std::string_view bytes, std::uint64_t offset, std::uint64_t salt) {
  for (++offset; offset + kFrameHead < bytes.size(); ++offset) {
    if (claims_of_frame(bytes.substr(offset), salt ^ offset).data() != nullptr) return true;
  }
  return false;
}

}  // namespace

bool ClaimLog::is_one(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::symlink_status(file, error).type() != std::filesystem::file_type::regular)
    return false;
  const auto bytes = read_file(file.string(), kMaxFile);
  return bytes && (is_unfinished(*bytes) || bytes->starts_with(kMagic));
}

Result<ClaimLog> ClaimLog::open(const std::filesystem::path& file) {
  std::string path = file.string();
  FileDescriptor fd(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (fd.get() < 0) return tl::unexpected(system_error(errno, "cannot open " + path));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return error(ErrorCode::kInUse, path + " is locked");
    return tl::unexpected(system_error(errno, "cannot lock " + path));
  }
  std::string header(kHeader, '\0');
  const ssize_t size = ::pread(fd.get(), header.data(), header.size(), 0);
  if (size < 0) return tl::unexpected(system_error(errno, "cannot read " + path));
  ClaimLog log(std::move(fd), std::move(path));
  if (static_cast<std::size_t>(size) < kHeader) return log;
  if (auto read = log.read_header(header); !read) {
    const auto bytes = read_file(log.path_, kMaxFile);
    if (!bytes || !is_unfinished(*bytes)) return tl::unexpected(read.error());
  }
  return log;
}

Result<void> ClaimLog::replay(const KeyedHash::Key& key, bool sync, const Take& take) {
  const OneAtATime::Use use(using_);
  if (!key_) return begin(key, sync);
  if (*key_ != key) return error(ErrorCode::kCorrupt, path_ + " belongs to another database");
  const auto bytes = read_file(path_, kMaxFile);
  if (!bytes) return tl::unexpected(bytes.error());
  return replay(*bytes, take);
}

Result<void> ClaimLog::begin(const KeyedHash::Key& key, bool sync) {
  if (auto emptied = cut(0); !emptied) return emptied;
  std::random_device random;
  salt_ = std::uint64_t{random()} << 32 | random();
  std::string header(kMagic);
  put_fixed(header, kVersion);
  put_fixed(header, std::uint32_t{0});
  put_fixed(header, salt_);
  header.append(reinterpret_cast<const char*>(key.data()), key.size());
  put_fixed(header, checksum(header));
  if (auto written = write_all(fd_.get(), header, path_); !written) return written;
  size_ = header.size();
  key_ = key;
  if (!sync) return {};
  if (auto synced = sync_file(fd_.get(), path_); !synced) return synced;
  return sync_directory(std::filesystem::path(path_).parent_path().string());
}

Result<void> ClaimLog::read_header(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return tl::unexpected(damaged(0));
  Decoder header(bytes.substr(kMagic.size()));
  const auto version = header.fixed<std::uint32_t>();
  header.fixed<std::uint32_t>();
  if (version != kVersion)
    return error(
        ErrorCode::kUnsupportedVersion,
        fmt::format("{} has version {}, this Trawl reads version {}", path_, version, kVersion));
  salt_ = header.fixed<std::uint64_t>();
  KeyedHash::Key key;
  const std::string_view in_file = bytes.substr(kKeyOffset, key.size());
  std::memcpy(key.data(), in_file.data(), key.size());
  Decoder end(bytes.substr(kCheckedHeader));
  if (end.fixed<std::uint64_t>() != checksum(bytes.substr(0, kCheckedHeader)))
    return tl::unexpected(damaged(0));
  key_ = key;
  return {};
}

Result<void> ClaimLog::replay(std::string_view bytes, const Take& take) {
  size_ = kHeader;
  while (size_ < bytes.size()) {
    const std::string_view claims = claims_of_frame(bytes.substr(size_), salt_ ^ size_);
    if (claims.data() == nullptr) {
      if (has_frame_after(bytes, size_, salt_)) return tl::unexpected(damaged(size_));
      return cut(size_);
    }
    Decoder decoder(claims);
    while (decoder.ok() && !decoder.done()) {
      Claim claim;
      claim.body.high = decoder.fixed<std::uint64_t>();
      claim.body.low = decoder.fixed<std::uint64_t>();
      claim.record = decoder.string();
      if (decoder.ok()) take(claim);
    }
    if (!decoder.ok()) return tl::unexpected(damaged(size_));
    size_ += kFrameHead + claims.size();
  }
  return {};
}

void ClaimLog::add(const Claim& claim) {
  const OneAtATime::Use use(using_);
  if (frame_.empty()) frame_.resize(kFrameHead);
  put_fixed(frame_, claim.body.high);
  put_fixed(frame_, claim.body.low);
  put_string(frame_, claim.record);
}

Result<void> ClaimLog::commit(bool sync) {
  const OneAtATime::Use use(using_);
  if (frame_.empty()) return {};
  const std::string_view claims = std::string_view(frame_).substr(kFrameHead);
  frame_.replace(0, kFrameHead, frame_head(claims, salt_ ^ size_));
  if (auto written = write_all(fd_.get(), frame_, path_); !written) return written;
  if (sync) {
    if (auto synced = sync_file(fd_.get(), path_); !synced) return synced;
  }
  size_ += frame_.size();
  frame_.clear();
  return {};
}

Result<void> ClaimLog::clear() {
  const OneAtATime::Use use(using_);
  return cut(kHeader);
}

Result<void> ClaimLog::cut(std::uint64_t size) {
  if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0)
    return tl::unexpected(system_error(errno, "cannot truncate " + path_));
  size_ = size;
  return {};
}

Error ClaimLog::damaged(std::uint64_t offset) const {
  return {ErrorCode::kCorrupt, fmt::format("{} is damaged at byte {}", path_, offset)};
}

}  // namespace trawl
