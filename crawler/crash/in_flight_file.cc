#include "crawler/crash/in_flight_file.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <random>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/coding.h"
#include "base/file_io.h"

namespace trawl {

namespace {

constexpr std::string_view kInFlightMagic = "TRAWLINF";
constexpr std::uint32_t kInFlightVersion = 1;
constexpr std::size_t kBlock = 512;  // the size of the header, and of each slot
constexpr std::size_t kCheckedHeader = 24;
constexpr std::size_t kSlotHead = 32;
constexpr std::uint64_t kMaxFile = std::uint64_t{1} << 30;  // two million slots

std::size_t file_size(std::uint32_t slots) {
  return (std::size_t{slots} + 1) * kBlock;
}

std::uint64_t checksum(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t random_number() {
  std::random_device random;
  return (std::uint64_t{random()} << 32) | random();
}

tl::unexpected<Error> last_error(std::string_view doing, const std::filesystem::path& path) {
  return tl::unexpected<Error>(
      system_error(errno, std::string(doing).append(" ").append(path.string())));
}

}  // namespace

// Numbers are mapped in native byte order, and read as coding.h writes them: the file is read on
// the same machine, or on another little-endian one.
struct InFlightFile::Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t slots;
  std::uint64_t run;
  std::uint64_t checksum;  // of the bytes before it
  std::atomic<std::uint32_t> signal;
  std::atomic<std::uint32_t> unlisted;
};

struct InFlightFile::Entry {
  std::atomic<std::uint32_t> used;
  std::uint32_t length;  // of `text`
  std::uint64_t hash_high;
  std::uint64_t hash_low;
  std::uint64_t checksum;  // of `text`, seeded with both halves of the hash
  char text[InFlightUrl::kMaxText];
};

namespace {

std::uint64_t checksum_of(const InFlightUrl& url) {
  return XXH3_64bits_withSeed(url.text.data(), url.text.size(), url.hash_high ^ url.hash_low);
}

}  // namespace

InFlightUrl InFlightUrl::of(std::string_view url) {
  const XXH128_hash_t hash = XXH3_128bits(url.data(), url.size());
  return {.hash_high = hash.high64,
          .hash_low = hash.low64,
          .text = std::string(url.substr(0, kMaxText))};
}

Result<std::unique_ptr<InFlightFile>> InFlightFile::create(const std::filesystem::path& path,
                                                           std::uint32_t slots) {
  static_assert(sizeof(Entry) == kBlock && offsetof(Entry, text) == kSlotHead);
  static_assert(offsetof(Header, checksum) == kCheckedHeader);
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
  // Creates a new file, so that a symbolic link of this name is not followed.
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return last_error("cannot replace", path);
  const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (file.get() < 0) return last_error("cannot create", path);
  const std::size_t size = file_size(slots);
  if (const int error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(size)); error != 0) {
    ::unlink(path.c_str());
    return tl::unexpected(system_error(error, "cannot allocate " + path.string()));
  }
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return last_error("cannot map", path);
  return std::unique_ptr<InFlightFile>(new InFlightFile(memory, slots));
}

InFlightFile::InFlightFile(void* memory, std::uint32_t slots) : memory_(memory), slots_(slots) {
  auto* const header = new (memory_) Header{};
  std::memcpy(header->magic, kInFlightMagic.data(), kInFlightMagic.size());
  header->version = kInFlightVersion;
  header->slots = slots;
  header->run = random_number();
  header->checksum = checksum({static_cast<const char*>(memory_), kCheckedHeader});
}

InFlightFile::~InFlightFile() {
  ::munmap(memory_, file_size(slots_));
}

InFlightFile::Entry& InFlightFile::entry(Slot slot) noexcept {
  assert(slot < slots_);
  return *reinterpret_cast<Entry*>(static_cast<char*>(memory_) + (std::size_t{slot} + 1) * kBlock);
}

InFlightFile::Slot InFlightFile::begin(std::string_view url) noexcept {
  const XXH128_hash_t hash = XXH3_128bits(url.data(), url.size());
  const std::string_view text = url.substr(0, InFlightUrl::kMaxText);
  for (std::uint32_t i = 0; i < slots_; ++i) {
    const auto slot = static_cast<Slot>(next_.fetch_add(1, std::memory_order_relaxed) % slots_);
    Entry& entry = this->entry(slot);
    // 2: taken, but not yet a transfer. acquire: pairs with the release in end(), whose thread may
    // have written the entry before.
    std::uint32_t free = 0;
    if (!entry.used.compare_exchange_strong(free, 2, std::memory_order_acquire,
                                            std::memory_order_relaxed)) {
      continue;
    }
    entry.hash_high = hash.high64;
    entry.hash_low = hash.low64;
    entry.length = static_cast<std::uint32_t>(text.size());
    entry.checksum = XXH3_64bits_withSeed(text.data(), text.size(), hash.high64 ^ hash.low64);
    std::memcpy(entry.text, text.data(), text.size());
    // release: pairs with the reading of the file by the next run: where that finds 1, it finds the
    // rest written, whatever the moment of the crash.
    entry.used.store(1, std::memory_order_release);
    return slot;
  }
  static_cast<Header*>(memory_)->unlisted.fetch_add(1, std::memory_order_relaxed);
  return kUnlisted;
}

void InFlightFile::end(Slot slot) noexcept {
  if (signal().load(std::memory_order_relaxed) != 0) return;
  if (slot == kUnlisted) {
    static_cast<Header*>(memory_)->unlisted.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  // release: pairs with the acquire in begin().
  entry(slot).used.store(0, std::memory_order_release);
}

void InFlightFile::clear() noexcept {
  // Those that were used: the others' pages of the file have not been touched.
  const std::uint64_t used = std::min<std::uint64_t>(next_.load(std::memory_order_relaxed), slots_);
  for (Slot slot = 0; slot < used; ++slot)
    entry(slot).used.store(0, std::memory_order_relaxed);
  static_cast<Header*>(memory_)->unlisted.store(0, std::memory_order_relaxed);
}

std::atomic<std::uint32_t>& InFlightFile::signal() noexcept {
  return static_cast<Header*>(memory_)->signal;
}

Result<std::optional<InFlightRecord>> InFlightFile::read(const std::filesystem::path& path) {
  const auto damaged = [&](std::string_view why) {
    return error(ErrorCode::kCorrupt, fmt::format("{} is damaged: {}", path.string(), why));
  };
  const auto contents = read_file(path.string(), kMaxFile);
  if (!contents) {
    if (contents.error().code == ErrorCode::kNotFound) return std::nullopt;
    return tl::unexpected(contents.error());
  }
  const std::string_view bytes = *contents;
  if (bytes.size() < kBlock || !bytes.starts_with(kInFlightMagic))
    return damaged("it does not begin with the magic number");
  Decoder in(bytes.substr(kInFlightMagic.size()));
  const auto version = in.fixed<std::uint32_t>();
  const auto slots = in.fixed<std::uint32_t>();
  InFlightRecord record;
  record.run = in.fixed<std::uint64_t>();
  if (in.fixed<std::uint64_t>() != checksum(bytes.substr(0, kCheckedHeader)))
    return damaged("the checksum of its header is wrong");
  if (version != kInFlightVersion) {
    return error(ErrorCode::kUnsupportedVersion,
                 fmt::format("{} has version {}; this version of trawl reads version {}",
                             path.string(), version, kInFlightVersion));
  }
  record.signal = static_cast<int>(in.fixed<std::uint32_t>());
  record.unlisted = in.fixed<std::uint32_t>();
  if (bytes.size() != file_size(slots)) return damaged("its length is wrong");
  for (std::size_t at = kBlock; at < bytes.size(); at += kBlock) {
    Decoder slot(bytes.substr(at, kBlock));
    const auto used = slot.fixed<std::uint32_t>();
    const auto length = slot.fixed<std::uint32_t>();
    InFlightUrl url;
    url.hash_high = slot.fixed<std::uint64_t>();
    url.hash_low = slot.fixed<std::uint64_t>();
    const auto sum = slot.fixed<std::uint64_t>();
    if (used == 0) continue;
    url.text = slot.rest().substr(0, std::min<std::size_t>(length, InFlightUrl::kMaxText));
    // Entries that do not match were incomplete, so not yet requested, or damaged by a power loss.
    if (used == 1 && length == url.text.size() && sum == checksum_of(url)) {
      record.urls.push_back(std::move(url));
    } else {
      ++record.unlisted;
    }
  }
  return record;
}

}  // namespace trawl
