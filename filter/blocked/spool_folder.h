// SpoolFolder: keys on disk, one file for each range they were put into.
#pragma once

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

// Removes the files of a spool, range-<digits>.keys, and then the folder unless it has others, for
// whoever holds its lock. Returns whether the folder is gone.
bool remove_spool(const std::string& folder);

// A key of a range: its block, counted from the range's first, and the half of its fingerprint that
// chooses its bits.
struct SpooledKey {
  std::uint32_t block;
  std::uint64_t low;
};

// What keys look like that are taken from a spool: scale_to(high, kRangeScale) is the block in its
// range, so that the kernels need not know of ranges.
inline constexpr unsigned kRangeScaleBits = 32;
inline constexpr std::uint64_t kRangeScale = std::uint64_t{1} << kRangeScaleBits;

// A folder of files range-NNN.keys that goes with it. A key takes as many bytes as its half and
// the number of the range's blocks need: 9 to 12. Keys are added, then taken, and then there may be
// a second turn. Not thread-safe; one process at a time.
class SpoolFolder {
 public:
  // Makes the folder, or takes over what a process that was killed left there. Files that are not
  // a spool's are left alone, also at the end. Errors: kInUse, kAlreadyExists if `path` is no
  // folder, kNotFound, kPermission, kNoSpace, kIo.
  static Result<SpoolFolder> create(std::string path, std::uint64_t ranges,
                                    std::uint64_t blocks_per_range, std::uint64_t buffer_bytes);

  // Takes memory for the buffers: create() has, and after finish_adding() it is to be called before
  // the next add().
  Result<void> begin_adding();
  Result<void> add(std::uint64_t range, SpooledKey key) {
    Range& spool = ranges_[range];
    std::memcpy(spool.next, &key.low, sizeof key.low);
    // All of it; the next key is written over what is too much.
    std::memcpy(spool.next + sizeof key.low, &key.block, sizeof key.block);
    spool.next += key_bytes_;
    spool.sum += sum_of(key);
    return spool.next < spool.end ? Result<void>{} : flush(range);
  }
  // Writes what is buffered and frees the buffers.
  Result<void> finish_adding();

  // What is kept, on disk and in buffers.
  std::uint64_t keys() const noexcept;
  std::uint64_t keys(std::uint64_t range) const noexcept;
  std::uint64_t bytes() const noexcept { return keys() * key_bytes_; }
  std::uint64_t bytes_per_key() const noexcept { return key_bytes_; }

  // Gives a range's keys in the order they came in, read through `buffer`, and removes its file.
  // After finish_adding(). Errors: kIo, also if they are not what was written; those of `use`.
  using Use = std::function<Result<void>(std::span<const Fingerprint> keys)>;
  Result<void> take(std::uint64_t range, std::span<char> buffer, const Use& use);
  // Has the disk begin to read what take() will.
  void prefetch(std::uint64_t range) const noexcept;

  SpoolFolder(SpoolFolder&&) noexcept = default;
  SpoolFolder& operator=(SpoolFolder&&) = delete;
  ~SpoolFolder();

 private:
  struct Range {
    char* begin = nullptr;  // of the buffer; keys are in [begin, next), and are flushed at `end`
    char* next = nullptr;
    char* end = nullptr;
    std::optional<OutputFile> file;
    std::uint64_t written = 0;  // keys
    std::uint64_t sum = 0;      // of all keys, to know them again
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
  // The buffers of all ranges; not from the heap, which would keep their memory when they are
  // freed.
  std::optional<WordArray> buffers_;
  std::vector<Range> ranges_;
  std::uint64_t key_bytes_;
  std::uint64_t buffer_bytes_;
};

}  // namespace trawl
