// StoreDatabase: the RocksDB database of a store, with what must outlive it.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <rocksdb/db.h>

#include "trawl/result.h"

#include "frontier/store/memory_plan.h"
#include "frontier/store/new_database_env.h"
#include "frontier/store/rocks_options.h"
#include "frontier/store/run_files.h"
#include "frontier/store/run_recovery.h"

namespace trawl {

// Opened by one thread; then as thread-safe as rocksdb::DB.
class StoreDatabase {
 public:
  // Opens or creates it; complete() follows when its format is known to be the current one. Errors:
  // those of check_store_families(), kCorrupt, kNoSpace, kIo, ...
  static Result<std::unique_ptr<StoreDatabase>> open(const std::filesystem::path& directory,
                                                     const MemoryPlan& memory);
  // Opens an existing one for reading only.
  static Result<std::unique_ptr<StoreDatabase>> open_to_read(const std::filesystem::path& directory,
                                                             const MemoryPlan& memory);
  StoreDatabase(const StoreDatabase&) = delete;
  StoreDatabase& operator=(const StoreDatabase&) = delete;
  // Closes it.
  ~StoreDatabase();

  // Ends open(): from here on a new one is a database, and runs of URLs may be written.
  Result<void> complete();

  rocksdb::DB& database() const noexcept { return *database_; }
  // In the order of StoreFamily.
  std::span<rocksdb::ColumnFamilyHandle* const> families() const noexcept { return families_; }
  const RocksOptions& options() const noexcept { return options_; }
  RunFiles& runs() const noexcept { return *runs_; }

 private:
  StoreDatabase(const std::filesystem::path& directory, RocksOptions options);
  rocksdb::Status create();
  rocksdb::Status open_all(bool to_read);
  Result<void> opened(const rocksdb::Status& status, std::string_view doing) const;

  const std::filesystem::path directory_;
  RocksOptions options_;
  const std::shared_ptr<RunFiles> runs_;
  const std::unique_ptr<rocksdb::Env> env_;
  RunRecovery recovery_;
  bool is_new_ = false;
  std::unique_ptr<NewDatabaseEnv> creation_;  // the environment in which a new one was created
  std::unique_ptr<rocksdb::DB> database_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
};

}  // namespace trawl
