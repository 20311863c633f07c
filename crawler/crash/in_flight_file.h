// InFlightFile: records the URLs being fetched in a mapped file, which survives the process.
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

// A URL in these files: identified by its hash and its first kMaxText bytes.
struct InFlightUrl {
  static constexpr std::size_t kMaxText = 480;

  std::uint64_t hash_high = 0;
  std::uint64_t hash_low = 0;
  std::string text;  // cut after kMaxText bytes

  static InFlightUrl of(std::string_view url);
  friend bool operator==(const InFlightUrl&, const InFlightUrl&) = default;
};

inline bool has(const std::vector<InFlightUrl>& urls, const InFlightUrl& url) {
  return std::find(urls.begin(), urls.end(), url) != urls.end();
}

// How a run ended, read from its file.
struct InFlightRecord {
  std::uint64_t run = 0;  // unique number of the run
  int signal = 0;         // the signal that ended it; 0: ended in order, or killed
  std::vector<InFlightUrl> urls;
  // Transfers in flight that found no free slot, in addition to `urls`.
  std::uint32_t unlisted = 0;
};

// Beginning and ending a transfer costs a few writes to memory and no system call. Once signal() is
// set, no transfer ends any more: what other threads do until the process ends is ignored. The
// format is in docs/formats.md. Thread-safe.
class InFlightFile {
 public:
  using Slot = std::uint32_t;
  static constexpr Slot kUnlisted = 0xFFFFFFFF;  // all slots were in use

  // Replaces the file at `path` and allocates its space, so that a full disk is detected here.
  // Errors: kNoSpace, kPermission, kIo.
  static Result<std::unique_ptr<InFlightFile>> create(const std::filesystem::path& path,
                                                      std::uint32_t slots);
  // Reads the file of the last run; nothing if there is no file. Errors: kCorrupt,
  // kUnsupportedVersion, kIo, kPermission.
  static Result<std::optional<InFlightRecord>> read(const std::filesystem::path& path);

  InFlightFile(const InFlightFile&) = delete;
  InFlightFile& operator=(const InFlightFile&) = delete;
  ~InFlightFile();

  Slot begin(std::string_view url) noexcept;
  void end(Slot slot) noexcept;
  // The run ends in order: nothing is in flight.
  void clear() noexcept;

  // The place where a signal handler stores the signal; valid as long as this object.
  std::atomic<std::uint32_t>& signal() noexcept;

 private:
  struct Header;
  struct Entry;

  InFlightFile(void* memory, std::uint32_t slots);
  Entry& entry(Slot slot) noexcept;

  void* const memory_;
  const std::uint32_t slots_;
  std::atomic<std::uint64_t> next_{0};
};

}  // namespace trawl
