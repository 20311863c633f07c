// BlockedBloomBuilder: builds the file of a blocked filter that may be larger than memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "trawl/filter.h"

namespace trawl {

// Most of the allowed memory holds the first blocks of the filter; keys of these blocks are
// inserted immediately. Keys of the other blocks are spooled to disk by ranges of blocks, 9 to 12
// bytes each. When the spool has reached its limit, and at the end, it is swept: each range in turn
// is brought into memory and its keys are inserted. All I/O is sequential. The resulting file is
// byte for byte the one that a BlockedBloomFilter with the same options saves after the same
// inserts in the same order, and can be loaded or mapped in the same way.
//
// A filter of 27.7 GB (10^10 keys at 1e-4) in 17.5 GiB of memory spools 32 % of its keys; one of
// 2.8 GB in 512 MiB spools 82 %. Each sweep except the last reads and writes the part of the filter
// that is not in memory; with 16 GiB for the spool the first example has one such sweep.
//
// There are at most 512 ranges, each with an open file and a buffer of at least 16 KiB. So 1 MiB of
// memory is enough for a filter of 30 MiB, 8 MiB for one of 2 GiB, 100 MiB for one of 27 GiB.
//
// The builder inserts and spools on a thread of its own while the caller produces the next keys.
//
// Not thread-safe. Callbacks run inside calls of the builder, on the caller's thread.
class BlockedBloomBuilder {
 public:
  // How a filter is built, and where.
  struct Options {
    FilterOptions filter = {};
    // The path of the finished file. The spool is the folder `path`.spool next to it (or the target
    // of a symbolic link of that name). It is removed at the end and on failure; a spool left by a
    // killed process is replaced. From the first sweep on the file is written as
    // `path`.tmp-XXXXXXXXXXXX; a killed process leaves that file behind.
    std::string path = {};
    // Bytes of memory in total; at least 1 MiB.
    std::uint64_t max_memory_bytes = std::uint64_t{1} << 30;
    // Bytes of disk for the spool, in addition to the file; at least 1 MiB. A smaller spool means
    // more sweeps.
    std::uint64_t max_spool_bytes = std::uint64_t{16} << 30;
    // Called from time to time during finish() with the keys applied so far, out of the `total`
    // keys added.
    std::function<void(std::uint64_t applied, std::uint64_t total)> on_progress = {};
    // Called several times a second while add() waits for a sweep, which can take long, with the
    // share of the sweep that is done.
    std::function<void(double share)> on_sweep = {};
  };

  // Errors: kInvalidArgument as for BlockedBloomFilter::create(), for a path that is a folder, and
  // for limits under 1 MiB or too small for this filter (the message says the minimum); kNoSpace if
  // the machine has less memory than this needs; kNotFound, kPermission, kNoSpace and kIo for the
  // spool; kAlreadyExists if a file is where the spool folder should be; kInUse if another builder
  // is building the same file.
  static Result<BlockedBloomBuilder> create(const Options& options);

  // Adds keys; duplicates are harmless. Errors: kNoSpace and kIo, possibly for keys added earlier:
  // the spool is then gone, and every further call fails in the same way; kClosed after finish().
  Result<void> add(std::span<const Fingerprint> keys);

  // Applies the spool and publishes the file atomically. Returns the statistics of the filter with
  // an exact fill; `memory_bytes` is the memory it takes when loaded. Must be the last call, once.
  // Errors: kNoSpace, kPermission, kIo; kClosed the second time.
  Result<FilterStats> finish();

  const KeyedHash& hash() const noexcept;

  // What is left to do.
  struct Work {
    std::uint64_t spool_bytes = 0;    // in the spool now
    std::uint64_t bytes_to_move = 0;  // that finish() would read and write now, about
    double bytes_per_second = 0;      // of the last sweep; 0 before the first
  };
  // For estimating how long finish() will take. Must not be called after it.
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
