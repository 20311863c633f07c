// InFlightFile: which URLs are being fetched, in a mapped file that survives the process.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

namespace trawl {

// A URL as these files have it: told apart by a hash of it and its first kMaxText bytes.
struct InFlightUrl {
  static constexpr std::size_t kMaxText = 480;

  std::uint64_t hash_high = 0;
  std::uint64_t hash_low = 0;
  std::string text;  // of a longer one its beginning

  static InFlightUrl of(std::string_view url);
  friend bool operator==(const InFlightUrl&, const InFlightUrl&) = default;
};

inline bool has(const std::vector<InFlightUrl>& urls, const InFlightUrl& url) {
  return std::find(urls.begin(), urls.end(), url) != urls.end();
}

// How a run ended, as its file has it.
struct InFlightRecord {
  std::uint64_t run = 0;  // a number that no other run has
  int signal = 0;         // that ended it; 0: it ended in order, or was killed
  std::vector<InFlightUrl> urls;
  // Transfers that found no free slot: more was in flight than `urls`.
  std::uint32_t unlisted = 0;
};

// Begun and ended transfers cost a few writes to memory, no system call. From when signal() is set
// on nothing ends any more: what other threads do until the process is gone does not count. The
// format is in docs/formats.md. Thread-safe.
class InFlightFile {
 public:
  using Slot = std::uint32_t;
  static constexpr Slot kUnlisted = 0xFFFFFFFF;  // all slots were in use

  // Replaces the file at `path`; its space is allocated, so that a full disk is noticed here.
  // Errors: kNoSpace, kPermission, kIo.
  static Result<std::unique_ptr<InFlightFile>> create(const std::filesystem::path& path,
                                                      std::uint32_t slots);
  // What the run before left; nothing: there is no such file. Errors: kCorrupt,
  // kUnsupportedVersion, kIo, kPermission.
  static Result<std::optional<InFlightRecord>> read(const std::filesystem::path& path);

  InFlightFile(const InFlightFile&) = delete;
  InFlightFile& operator=(const InFlightFile&) = delete;
  ~InFlightFile();

  Slot begin(std::string_view url) noexcept;
  void end(Slot slot) noexcept;
  // The run ends in order: nothing is in flight any more.
  void clear() noexcept;

  // Where a signal handler notes the signal; lives as long as this.
  std::atomic<std::uint32_t>& signal() noexcept;

 private:
  struct Header;
  struct Entry;

  InFlightFile(void* memory, std::uint32_t slots);
  Entry& entry(Slot slot) noexcept;

  void* const memory_;
  const std::uint32_t slots_;
  std::atomic<std::uint32_t> next_{0};
};

}  // namespace trawl
