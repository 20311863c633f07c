// A frame begins with the size of its claims and a checksum of that, so that it can be found in a
// damaged file: if an intact frame follows a broken one, the file was damaged; otherwise the broken
// one is what a crash left of the last commit, and is removed. Checksums depend on the offset and
// on the file's salt, so that nothing that was copied or left over passes for a frame.
#include "crawler/output/claim_log.h"

#include <cerrno>
#include <random>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/coding.h"

namespace trawl {

namespace {

constexpr std::string_view kMagic = "TRAWLCLM";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeader = 40;
constexpr std::size_t kCheckedHeader = kHeader - sizeof(std::uint64_t);
constexpr std::size_t kFrameHead = 16;
constexpr std::size_t kMaxFile = std::size_t{1} << 30;

std::uint64_t checksum(std::string_view bytes, std::uint64_t seed = 0) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t checksum_of(const KeyedHash::Key& key) {
  return checksum({reinterpret_cast<const char*>(key.data()), key.size()});
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

Result<ClaimLog> ClaimLog::open(const std::filesystem::path& file, const KeyedHash::Key& key,
                                bool sync, const Take& take) {
  std::string path = file.string();
  FileDescriptor fd(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (fd.get() < 0) return tl::unexpected(system_error(errno, "cannot open " + path));
  const auto bytes = read_file(path, kMaxFile);
  if (!bytes) return tl::unexpected(bytes.error());
  ClaimLog log(std::move(fd), std::move(path));
  // A header is written at once: less is what a crash left of it.
  auto opened = bytes->size() < kHeader ? log.begin(key, sync) : log.replay(*bytes, key, take);
  if (!opened) return tl::unexpected(opened.error());
  return log;
}

Result<void> ClaimLog::begin(const KeyedHash::Key& key, bool sync) {
  if (auto emptied = cut(0); !emptied) return emptied;
  std::random_device random;
  salt_ = std::uint64_t{random()} << 32 | random();
  std::string header(kMagic);
  put_fixed(header, kVersion);
  put_fixed(header, std::uint32_t{0});
  put_fixed(header, salt_);
  put_fixed(header, checksum_of(key));
  put_fixed(header, checksum(header));
  if (auto written = write_all(fd_.get(), header, path_); !written) return written;
  size_ = header.size();
  if (!sync) return {};
  if (::fdatasync(fd_.get()) != 0)
    return tl::unexpected(system_error(errno, "cannot sync " + path_));
  return sync_directory(std::filesystem::path(path_).parent_path().string());
}

Result<void> ClaimLog::replay(std::string_view bytes, const KeyedHash::Key& key, const Take& take) {
  Decoder header(bytes.substr(kMagic.size(), kHeader - kMagic.size()));
  const auto version = header.fixed<std::uint32_t>();
  header.fixed<std::uint32_t>();
  salt_ = header.fixed<std::uint64_t>();
  const auto written_with = header.fixed<std::uint64_t>();
  if (!bytes.starts_with(kMagic)) return tl::unexpected(damaged(0));
  if (version != kVersion)
    return error(
        ErrorCode::kUnsupportedVersion,
        fmt::format("{} has version {}, this Trawl reads version {}", path_, version, kVersion));
  if (header.fixed<std::uint64_t>() != checksum(bytes.substr(0, kCheckedHeader)))
    return tl::unexpected(damaged(0));
  if (written_with != checksum_of(key))
    return error(ErrorCode::kCorrupt, path_ + " belongs to another database");
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
  if (sync && ::fdatasync(fd_.get()) != 0)
    return tl::unexpected(system_error(errno, "cannot sync " + path_));
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
