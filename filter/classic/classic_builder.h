// ClassicBuilder: builds the file of a classic filter that is larger than memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trawl/classic_bloom_filter.h"
#include "trawl/filter.h"

#include "base/file_io.h"
#include "base/one_thread.h"
#include "filter/bits/word_array.h"
#include "filter/classic/classic_layout.h"
#include "filter/snapshot/snapshot_writer.h"

namespace trawl {

inline constexpr std::uint64_t kMinClassicBuilderMemory = std::uint64_t{1} << 20;

// The bits of a key are all over the filter, so keys cannot be spooled by range as for a blocked
// filter: all go to one spool, 16 bytes each. When it is full, and at the end, the filter is
// processed in parts as large as the memory: each part is read back from the unfinished file, all
// keys of the spool are read, and their bits in this part are set. All I/O is sequential; a sweep
// reads the spool once for each part.
//
// The spool is a file without a name, which vanishes with the process. Not thread-safe. After an
// error no keys can be added.
class ClassicBuilder {
 public:
  struct Options {
    ClassicBloomFilter::Options filter;
    std::string path;                    // path of the file, replaced when complete
    std::uint64_t max_memory_bytes = 0;  // in total, at least kMinClassicBuilderMemory
    std::uint64_t max_spool_bytes = std::uint64_t{16} << 30;
    // Called from time to time with the share done of a sweep, or of writing the file.
    std::function<void(double share)> on_sweep, on_writing;
  };

  // Errors: those of ClassicBloomFilter::create(); kInvalidArgument for too little memory; file
  // errors.
  static Result<ClassicBuilder> create(const Options& options);

  // Errors: kNoSpace, kIo.
  Result<void> add(std::span<const Fingerprint> keys);
  // Writes and publishes the file. Estimates the number of distinct keys from the bits.
  Result<FilterStats> finish();

  const KeyedHash& hash() const noexcept { return hash_; }
  std::uint64_t spool_bytes() const noexcept { return spooled_ + buffer_.size() * kKeyBytes; }

 private:
  static constexpr std::uint64_t kKeyBytes = sizeof(Fingerprint);
  struct Output {
    TemporaryFile name;
    SnapshotWriter writer;
  };
  using OnWords = std::function<Result<void>(std::uint64_t first_chunk, const WordArray& words)>;

  ClassicBuilder(const Options& options, const ClassicLayout& layout, Output output);
  Result<void> spool_buffer();
  // Calls `use` with each part after inserting all keys of the spool.
  Result<void> go_through(const std::function<void(double)>& tell, const OnWords& use);
  Result<void> insert_spooled(const WordArray& part, std::uint64_t first_word,
                              const std::function<void(double)>& tell);
  Result<void> append(std::uint64_t first_chunk, const WordArray& words);
  Result<void> sweep();
  SnapshotHeader header() const;

  Options options_;
  ClassicLayout layout_;
  KeyedHash hash_;
  std::uint64_t chunks_per_part_;
  std::vector<Fingerprint> buffer_;  // keys not yet in the spool
  std::optional<OutputFile> spool_;  // if it has any
  std::uint64_t spooled_ = 0;        // bytes of it
  Output output_;
  bool in_file_ = false;  // the bits of earlier sweeps
  OneAtATime using_;
  std::uint64_t bits_set_ = 0;
};

}  // namespace trawl
