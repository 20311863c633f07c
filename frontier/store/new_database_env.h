// NewDatabaseEnv: lets RocksDB create a database without a sync at each step, and without the file
// that lists its options.
#pragma once

#include <filesystem>
#include <memory>

#include <rocksdb/env.h>

#include "trawl/result.h"

namespace trawl {

// Until complete(), a mark says that the directory may be anything (base/database_state.h), so
// RocksDB's two dozen syncs, each of which may wait for the disk, become a few at the end. Must
// outlive the database. Not for children of fork(): its threads are those of the default
// environment.
class NewDatabaseEnv {
 public:
  // `base`: the environment of the database from then on, which must outlive this.
  explicit NewDatabaseEnv(rocksdb::Env& base);
  NewDatabaseEnv(const NewDatabaseEnv&) = delete;
  NewDatabaseEnv& operator=(const NewDatabaseEnv&) = delete;
  ~NewDatabaseEnv();

  rocksdb::Env* env() const noexcept;
  // Makes what is in the directory durable; from here on a sync is one. No other thread may write
  // to the database. Errors: kNoSpace, kIo.
  Result<void> complete(const std::filesystem::path& directory);

 private:
  class Files;
  std::shared_ptr<Files> files_;
  std::unique_ptr<rocksdb::Env> env_;
};

}  // namespace trawl
