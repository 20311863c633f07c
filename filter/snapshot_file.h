// The snapshot file of a blocked filter: parameters, then the bits in checksummed chunks, those
// that are all zero left out. docs/formats.md specifies it byte by byte.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "trawl/result.h"

#include "filter/file_io.h"

namespace trawl {

struct SnapshotHeader {
  std::uint64_t capacity = 0;
  double target_rate = 0;
  std::uint64_t blocks = 0;
  std::uint32_t bits_per_key = 0;
  std::uint64_t inserted = 0;
};

inline constexpr std::size_t kSnapshotChunkBytes = 64 * 1024;

// Writes and syncs a snapshot; `copy_words(first, out)` fills `out` with the filter's words from
// `first` on. Returns the file's size.
Result<std::uint64_t> write_snapshot(
    const std::string& path, const SnapshotHeader& header,
    const std::function<void(std::uint64_t first, std::span<std::uint64_t> out)>& copy_words);

// Reads a snapshot, one chunk at a time.
class SnapshotReader {
 public:
  // Opens the file and checks its header.
  static Result<SnapshotReader> open(const std::string& path);
  const SnapshotHeader& header() const noexcept { return header_; }
  // Calls `store_words(first, words)` for each chunk in the file, each verified before.
  Result<void> read_chunks(
      const std::function<void(std::uint64_t first, std::span<const std::uint64_t> words)>&
          store_words);

 private:
  SnapshotReader(InputFile file, const SnapshotHeader& header)
      : file_(std::move(file)), header_(header) {}
  InputFile file_;
  SnapshotHeader header_;
};

}  // namespace trawl
