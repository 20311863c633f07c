// BlockedBloomBuilder: makes the file of a blocked filter that need not fit into memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "trawl/filter.h"

namespace trawl {

// Most of the memory allowed holds the first blocks of the filter, whose keys are inserted as they
// come; keys of the other blocks are spooled to disk by ranges of blocks, 9 to 12 bytes each. When
// the spool is as large as allowed, and at the end, it is swept: range by range is brought into
// memory and gets its keys. All I/O is sequential. The file is the same, byte for byte, as that of
// a BlockedBloomFilter with the same options into which the same keys were inserted in the same
// order, and may be loaded or mapped as one.
//
// A filter of 27.7 GB (10^10 keys at 1e-4) in 17.5 GiB of memory spools 32 % of its keys; 512 MiB
// for one of 2.8 GB, 82 %. Each sweep but the last reads and writes what is not in memory of the
// filter; with 16 GiB for the spool there is one such in the first example.
//
// There may be 512 ranges at most, each with a file open and a buffer of at least 16 KiB: 1 MiB is
// enough for a filter of 30 MiB, 8 MiB for one of 2 GiB, 100 MiB for one of 27 GiB.
//
// A thread of the builder's own inserts and spools while the caller makes the next keys.
//
// Not thread-safe; callbacks come from within calls of the builder, on the caller's thread.
class BlockedBloomBuilder {
 public:
  struct Options {
    FilterOptions filter = {};
    // Where the file goes. The spool is beside it, in the folder `path`.spool (or where a symbolic
    // link of that name leads). It is removed at the end, and on failure; what a killed process
    // left there is replaced. The file is written as `path`.tmp-XXXXXXXXXXXX, from the first sweep
    // on, which a process that is killed meanwhile leaves behind.
    std::string path = {};
    // For everything together; at least 1 MiB.
    std::uint64_t max_memory_bytes = std::uint64_t{1} << 30;
    // Of disk for the spool, beside the file; at least 1 MiB. The less, the more sweeps.
    std::uint64_t max_spool_bytes = std::uint64_t{16} << 30;
    // Called now and then during finish(): the work done, as a part of the `total` keys added.
    std::function<void(std::uint64_t applied, std::uint64_t total)> on_progress = {};
    // Called several times a second while add() waits, which it does for long while the spool is
    // swept: the share done of the sweep.
    std::function<void(double share)> on_sweep = {};
  };

  // Errors: kInvalidArgument as BlockedBloomFilter::create(), for a path that is a folder, and for
  // less than 1 MiB or too little for this filter, with the least that works; kNoSpace if the
  // machine has less memory than allowed and needed; kNotFound, kPermission, kNoSpace, kIo for the
  // spool; kAlreadyExists if there is a file in its place; kInUse if another builder is making the
  // same file.
  static Result<BlockedBloomBuilder> create(const Options& options);

  // Adds keys; duplicates do no harm. Errors: kNoSpace, kIo, maybe those of keys that were added
  // before, after which the spool is gone and each further call fails likewise; kClosed after
  // finish().
  Result<void> add(std::span<const Fingerprint> keys);

  // Applies the spool and publishes the file atomically. Returns the statistics of the filter, its
  // fill counted exactly; `memory_bytes` is what it would take if it were loaded. To be called
  // once, last. Errors: kNoSpace, kPermission, kIo; kClosed the second time.
  Result<FilterStats> finish();

  const KeyedHash& hash() const noexcept;

  struct Work {
    std::uint64_t spool_bytes = 0;    // kept in the spool now
    std::uint64_t bytes_to_move = 0;  // read and written if finish() were called now, about
    double bytes_per_second = 0;      // moved by the last sweep; 0 if there was none
  };
  // To estimate by how long finish() will take. Only before it.
  Work work() const noexcept;

  BlockedBloomBuilder(BlockedBloomBuilder&&) noexcept;
  BlockedBloomBuilder& operator=(BlockedBloomBuilder&&) noexcept;
  ~BlockedBloomBuilder();  // removes the spool

 private:
  struct State;
  explicit BlockedBloomBuilder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trawl
