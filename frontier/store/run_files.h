// RunFiles: new URLs in files next to RocksDB's log, written by the threads that admit them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "trawl/result.h"

#include "base/mutex.h"
#include "base/striped_counter.h"
#include "frontier/store/queue_run.h"

namespace trawl {

// Runs whose references are being written to RocksDB: handed to the memtable that inserts them.
// Thread-safe.
class RunHandover {
 public:
  // Precondition: the run has a place.
  void give(std::shared_ptr<RunBytes> run);
  // The run at this place, if it is still there; it is no longer then.
  std::shared_ptr<RunBytes> take(const RunPlace& place);

 private:
  Mutex mutex_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::shared_ptr<RunBytes>> runs_
      TRAWL_GUARDED_BY(mutex_);
};

// The files with runs in the directory of a store. Thread-safe.
class RunFiles {
 public:
  // A file that has as many bytes gets no further runs.
  static constexpr std::uint64_t kFileBytes = 16u << 20;

  explicit RunFiles(std::filesystem::path directory, std::uint64_t file_bytes = kFileBytes);
  RunFiles(const RunFiles&) = delete;
  RunFiles& operator=(const RunFiles&) = delete;
  // Files stay.
  ~RunFiles() { keep_all(); }

  // Removes all files, to which nothing may refer any more; those that are written get higher
  // numbers. Errors: kIo, ...
  Result<void> begin();
  // Writes the run to a file: then it has a place. Its file is there as long as one of the runs in
  // it. If no file can be created, as with too many open ones, the run gets no place, and is to be
  // written to the log. Errors: kNoSpace, kIo, ...
  Result<void> write(RunBytes& run);
  // Makes the runs written before survive a power loss. After a failure it fails always.
  Result<void> sync();
  // From now on files stay.
  void keep_all() noexcept { keeps_->store(true, std::memory_order_relaxed); }

  // The run at a place, and nothing if the file is missing, too short or damaged there. Other
  // errors: those of reading.
  static Result<std::optional<RunBytes>> read(const std::filesystem::path& directory,
                                              const RunPlace& place);

 private:
  class File;
  // Few threads wait for each other, if any: the file system writes to a file by one thread at a
  // time.
  static constexpr std::size_t kLanes = 16;
  struct alignas(kCacheLine) Lane {
    Mutex mutex;
    std::shared_ptr<File> file TRAWL_GUARDED_BY(mutex);  // being filled
  };

  std::shared_ptr<File> create();
  void note_unsynced(const std::shared_ptr<File>& file);
  void drop_idle();

  const std::filesystem::path directory_;
  const std::uint64_t file_bytes_;
  const std::size_t lanes_in_use_;
  // Outlived by files of runs that are still queued somewhere.
  const std::shared_ptr<std::atomic<bool>> keeps_ = std::make_shared<std::atomic<bool>>(false);
  std::atomic<std::uint64_t> last_number_{0};
  std::array<Lane, kLanes> lanes_;
  Mutex syncing_;  // held during a sync, so that one that finds nothing to do waits for another
  std::optional<Error> failure_ TRAWL_GUARDED_BY(syncing_);
  Mutex mutex_;
  std::vector<std::weak_ptr<File>> unsynced_ TRAWL_GUARDED_BY(mutex_);
  bool created_ TRAWL_GUARDED_BY(mutex_) = false;  // files, since the directory was synced
};

}  // namespace trawl
