// BlockedBloomBuilder: makes the file of a blocked filter that need not fit into memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "trawl/filter.h"

namespace trawl {

// Fingerprints are spooled to disk by the range of blocks they fall on, and then applied range by
// range, each in memory while it is worked on; all I/O is sequential. The file is the same, byte
// for byte, as that of a BlockedBloomFilter with the same options into which the same keys were
// inserted in the same order, and may be loaded or mapped as one.
//
// A range takes most of the memory allowed, and there may be 512 of them at most, each with a file
// open and a buffer of at least 16 KiB: 1 MiB is enough for a filter of 30 MiB, 8 MiB for one of
// 2 GiB, 100 MiB for one of 27 GiB.
//
// Not thread-safe.
class BlockedBloomBuilder {
 public:
  struct Options {
    FilterOptions filter = {};
    // Where the file goes; the spool is beside it, in the folder `path`.spool (or where a symbolic
    // link of that name leads), and needs 16 bytes of disk a key. It is removed at the end, and on
    // failure; what a killed process left there is replaced. The file is written as
    // `path`.tmp-XXXXXXXXXXXX, which a process that is killed meanwhile leaves behind.
    std::string path = {};
    // For everything together; at least 1 MiB.
    std::uint64_t max_memory_bytes = std::uint64_t{1} << 30;
    // Called now and then during finish(): how many of the `total` keys added are in the filter.
    std::function<void(std::uint64_t applied, std::uint64_t total)> on_progress = {};
  };

  // Errors: kInvalidArgument as BlockedBloomFilter::create(), for a path that is a folder, and for
  // less than 1 MiB or too little for this filter, with the least that works; kNoSpace if the
  // machine has less memory than a range takes; kNotFound, kPermission, kNoSpace, kIo for the
  // spool; kAlreadyExists if there is a file in its place; kInUse if another builder is making the
  // same file.
  static Result<BlockedBloomBuilder> create(const Options& options);

  // Adds keys; duplicates do no harm. Errors: kNoSpace, kIo, after which the spool is gone and each
  // further call fails likewise; kClosed after finish().
  Result<void> add(std::span<const Fingerprint> keys);

  // Applies the spool and publishes the file atomically. Returns the statistics of the filter, its
  // fill counted exactly; `memory_bytes` is what it would take if it were loaded. To be called
  // once, last. Errors: kNoSpace, kPermission, kIo; kClosed the second time.
  Result<FilterStats> finish();

  const KeyedHash& hash() const noexcept;

  BlockedBloomBuilder(BlockedBloomBuilder&&) noexcept;
  BlockedBloomBuilder& operator=(BlockedBloomBuilder&&) noexcept;
  ~BlockedBloomBuilder();  // removes the spool

 private:
  struct State;
  explicit BlockedBloomBuilder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trawl
