// SpoolFolder: fingerprints on disk, one file for each range they were put into.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trawl/fingerprint.h"

#include "filter/file_io.h"
#include "filter/word_array.h"

namespace trawl {

// Removes the files of a spool, range-<digits>.keys, and then the folder unless it has others, for
// whoever holds its lock. Returns whether the folder is gone.
bool remove_spool(const std::string& folder);

// A folder of files range-NNN.keys that goes with it. Not thread-safe; one process at a time.
class SpoolFolder {
 public:
  // Makes the folder, or takes over what a process that was killed left there. Files that are not
  // a spool's are left alone, also at the end. Errors: kInUse, kAlreadyExists if `path` is no
  // folder, kNotFound, kPermission, kNoSpace, kIo.
  static Result<SpoolFolder> create(std::string path, std::uint64_t ranges,
                                    std::uint64_t buffer_bytes);

  Result<void> add(std::uint64_t range, Fingerprint key) {
    Range& spool = ranges_[range];
    spool.buffer[spool.buffered++] = key;
    return spool.buffered < buffer_keys_ ? Result<void>{} : flush(range);
  }
  std::uint64_t keys() const noexcept;

  // Writes what is buffered and frees the buffers. Once, after the last add().
  Result<void> finish_adding();

  // Gives a range's keys in the order they came in, as many at a time as `buffer` holds, and
  // removes its file. Errors: kIo, also if they are not what was written.
  using Use = std::function<void(std::span<const Fingerprint> keys)>;
  Result<void> take(std::uint64_t range, std::span<Fingerprint> buffer, const Use& use);

  SpoolFolder(SpoolFolder&&) noexcept = default;
  SpoolFolder& operator=(SpoolFolder&&) = delete;
  ~SpoolFolder();

 private:
  struct Range {
    Fingerprint* buffer = nullptr;  // buffer_keys_ of them, `buffered` taken
    std::size_t buffered = 0;
    std::optional<OutputFile> file;
    std::uint64_t written = 0;  // keys
    std::uint64_t sum = 0;      // of them, to know them again
  };

  SpoolFolder(std::string path, FileDescriptor lock, WordArray buffers, std::uint64_t ranges,
              std::size_t buffer_keys);
  std::string file_of(std::uint64_t range) const;
  Result<void> flush(std::uint64_t range);

  std::string path_;
  FileDescriptor lock_;  // the folder, held with flock(2)
  // The buffers of all ranges; not from the heap, which would keep their memory when they are
  // freed.
  std::optional<WordArray> buffers_;
  std::vector<Range> ranges_;
  std::size_t buffer_keys_;
};

}  // namespace trawl
