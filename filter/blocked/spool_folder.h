// SpoolFolder: keys on disk, in one file for each range.
#pragma once

#include <cassert>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trawl/fingerprint.h"

#include "base/file_io.h"
#include "filter/bits/word_array.h"

namespace trawl {

// Removes a spool's files, range-<digits>.keys, and then the folder unless it has other files. The
// caller must hold the folder's lock. Returns whether the folder was removed.
bool remove_spool(const std::string& folder);

// A key of a range: its block, counted from the range's first block, and the half of its
// fingerprint that chooses its bits.
struct SpooledKey {
  std::uint32_t block;
  std::uint64_t low;
};

// Fingerprints taken from a spool have a `high` with scale_to(high, kRangeScale) equal to the block
// in its range, so that the kernels need not know about ranges.
inline constexpr unsigned kRangeScaleBits = 32;
inline constexpr std::uint64_t kRangeScale = std::uint64_t{1} << kRangeScaleBits;

// A folder of files range-NNN.keys, removed by the destructor. A key takes 9 to 12 bytes: 8 for
// half of its fingerprint, and what the number of blocks in a range needs. Keys are added, then
// taken; then keys may be added again. Not thread-safe; used by one process at a time.
class SpoolFolder {
 public:
  // Creates the folder, or takes over one left by a killed process. Never touches files that are
  // not a spool's. Errors: kInUse, kAlreadyExists if `path` is not a folder, kNotFound,
  // kPermission, kNoSpace, kIo.
  static Result<SpoolFolder> create(std::string path, std::uint64_t ranges,
                                    std::uint64_t blocks_per_range, std::uint64_t buffer_bytes);

  // Allocates the buffers. create() does so too; after finish_adding() it must be called before the
  // next add().
  Result<void> begin_adding();
  Result<void> add(std::uint64_t range, SpooledKey key) {
    assert(range < ranges_.size() && buffers_);
    Range& spool = ranges_[range];
    assert(spool.begin <= spool.next && spool.next < spool.end);
    std::memcpy(spool.next, &key.low, sizeof key.low);
    // Writes all bytes of `block`; the next key overwrites the excess.
    std::memcpy(spool.next + sizeof key.low, &key.block, sizeof key.block);
    spool.next += key_bytes_;
    spool.sum += sum_of(key);
    return spool.next < spool.end ? Result<void>{} : flush(range);
  }
  // Writes the buffered keys and frees the buffers.
  Result<void> finish_adding();

  // The number of keys and bytes, on disk and in buffers.
  std::uint64_t keys() const noexcept;
  std::uint64_t keys(std::uint64_t range) const noexcept;
  std::uint64_t bytes() const noexcept { return keys() * key_bytes_; }
  std::uint64_t bytes_per_key() const noexcept { return key_bytes_; }

  // Passes a range's keys to `use` in the order in which they were added, reading through `buffer`,
  // and removes the file. Must follow finish_adding(). Errors: kIo, also if the file has changed;
  // those of `use`.
  using Use = std::function<Result<void>(std::span<const Fingerprint> keys)>;
  Result<void> take(std::uint64_t range, std::span<char> buffer, const Use& use);
  // Starts reading the range's file ahead of take().
  void prefetch(std::uint64_t range) const noexcept;

  SpoolFolder(SpoolFolder&&) noexcept = default;
  SpoolFolder& operator=(SpoolFolder&&) = delete;
  ~SpoolFolder();

 private:
  struct Range {
    char* begin = nullptr;  // start of the buffer; keys are in [begin, next) and flushed at `end`
    char* next = nullptr;
    char* end = nullptr;
    std::optional<OutputFile> file;
    std::uint64_t written = 0;  // keys
    std::uint64_t sum = 0;      // checksum of all keys
  };

  SpoolFolder(std::string path, FileDescriptor lock, std::uint64_t ranges, std::uint64_t key_bytes,
              std::uint64_t buffer_bytes);
  static std::uint64_t sum_of(SpooledKey key) noexcept {
    return key.low ^ (std::uint64_t{key.block} << kRangeScaleBits);
  }
  std::string file_of(std::uint64_t range) const;
  Result<void> flush(std::uint64_t range);

  std::string path_;
  FileDescriptor lock_;  // the folder, held with flock(2)
  // The buffers of all ranges. Not from the heap, which would keep the memory after it is freed.
  std::optional<WordArray> buffers_;
  std::vector<Range> ranges_;
  std::uint64_t key_bytes_;
  std::uint64_t buffer_bytes_;
};

}  // namespace trawl
