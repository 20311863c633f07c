// RocksStore: a Store in RocksDB.
#pragma once

#include <filesystem>
#include <memory>

#include "trawl/result.h"

#include "frontier/store/memory_plan.h"
#include "frontier/store/store.h"

namespace trawl {

struct RocksStore {
  struct Options {
    bool sync = false;  // sync every write to the disk
    MemoryPlan memory;
    std::size_t least_run_in_file = std::size_t{8} << 10;  // bytes; smaller ones are in the log
  };
  // Opens or creates the store in `directory`.
  static Result<std::unique_ptr<Store>> open(const std::filesystem::path& directory,
                                             const Options& options);
  // Opens an existing store for reading only: its files are not written and need not be writable.
  // write(), sync() and trim_admissions() fail.
  static Result<std::unique_ptr<Store>> open_to_read(const std::filesystem::path& directory,
                                                     const Options& options);
};

}  // namespace trawl
