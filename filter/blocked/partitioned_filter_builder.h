// PartitionedFilterBuilder: a blocked filter under construction, with a part in memory and the rest
// on disk.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_io.h"
#include "base/one_thread.h"
#include "filter/bits/stripe_locks.h"
#include "filter/bits/word_array.h"
#include "filter/blocked/block_kernels.h"
#include "filter/blocked/block_layout.h"
#include "filter/blocked/builder_plan.h"
#include "filter/blocked/spool_folder.h"
#include "filter/snapshot/snapshot_writer.h"

namespace trawl {

// The first blocks are resident: their keys are inserted immediately. The other blocks are divided
// into ranges; their keys are spooled to disk. When the spool is full, and at the end, it is swept:
// each range is read into memory, its keys are inserted, and it is written back. Between sweeps the
// ranges are stored in the unfinished output file, so that they need no disk space of their own.
//
// Each block gets its keys in the order in which they were added, so that bits and counts are those
// of a filter in memory. Not thread-safe, except `Shared`.
class PartitionedFilterBuilder {
 public:
  struct Options {
    BlockLayout layout;
    BuilderPlan plan;
    std::string path;                   // path of the file
    std::uint64_t max_spool_bytes = 0;  // the spool is swept at this size
  };
  static Result<PartitionedFilterBuilder> create(const Options& options);

  // Errors: kNoSpace, kIo; kClosed after give_up().
  Result<void> add(std::span<const Fingerprint> keys);
  // Writes and publishes the file. `header` makes the header when all keys are inserted;
  // `on_progress` gets the share that is done. Must be the last call, once.
  using MakeHeader = std::function<SnapshotHeader()>;
  Result<void> write(const MakeHeader& header, const std::function<void(double)>& on_progress);

  std::uint64_t keys() const noexcept { return keys_; }          // added
  std::uint64_t inserted() const noexcept { return inserted_; }  // new keys, once written
  std::uint64_t bits_set() const noexcept { return bits_set_; }  // once written

  // State that another thread may read and set while add() runs. Relaxed: no other data depends on
  // it.
  struct Shared {
    std::atomic<double> sweep = -1;  // share done of the running sweep, or negative
    std::atomic<std::uint64_t> spool_bytes = 0;
    std::atomic<double> bytes_per_second = 0;  // of the last sweep, or 0
    std::atomic<bool> give_up = false;         // makes add() return early
  };
  Shared& shared() noexcept { return *shared_; }

 private:
  struct Output {
    TemporaryFile name;
    SnapshotWriter writer;
  };
  using OnPart = std::function<void(std::uint64_t bytes)>;

  PartitionedFilterBuilder(const Options& options, std::optional<WordArray> resident,
                           SpoolFolder spool);
  std::uint64_t first_chunk(std::uint64_t range) const noexcept;
  std::uint64_t words_of(std::uint64_t range) const noexcept;
  std::uint64_t bytes_to_move(std::uint64_t range) const noexcept;
  void insert(const WordArray& words, std::uint64_t scale, std::span<const Fingerprint> keys);
  Result<void> begin_file();
  Result<void> sweep();
  Result<WordArray> work_on(std::uint64_t range, const OnPart& on_part);
  Result<void> append(const WordArray& words, std::uint64_t first_chunk, const OnPart& on_part);

  BlockLayout layout_;
  BuilderPlan plan_;
  std::string path_;
  std::uint64_t max_spool_bytes_;
  std::uint64_t resident_blocks_;
  std::uint64_t blocks_per_range_;
  std::optional<WordArray> resident_;  // the resident blocks, if any, until they are written
  SpoolFolder spool_;
  std::optional<Output> output_;  // from the first sweep on
  std::vector<bool> in_file_;     // whether a range has been swept before
  std::unique_ptr<Shared> shared_;
  std::unique_ptr<StripeLocks> locks_;
  std::array<Fingerprint, 1024> resident_keys_{};  // buffered for insert_batch
  std::array<bool, 1024> admitted_{};
  std::uint64_t keys_ = 0;
  std::uint64_t inserted_ = 0;
  std::uint64_t bits_set_ = 0;
  OneAtATime using_;
};

}  // namespace trawl
