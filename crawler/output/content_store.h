// ContentStore: the database of ContentIndex, set up for small records and little memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/write_buffer_manager.h>

#include "trawl/fingerprint.h"
#include "trawl/result.h"

namespace trawl {

// Thread-safe.
class ContentStore {
 public:
  // Creates it if missing. Errors: kInUse, kCorrupt, kNoSpace, kIo.
  static Result<std::unique_ptr<ContentStore>> open(const std::filesystem::path& directory);

  rocksdb::DB& database() const noexcept { return *database_; }
  // The hash of its keys, from the format record. A new store gets a record with a random key.
  // Errors: kUnsupportedVersion, kCorrupt, kNoSpace, kIo.
  Result<KeyedHash> hash();
  std::uint64_t estimated_records() const;
  std::uint64_t memory() const;

  Error store_error(const rocksdb::Status& status, std::string_view doing) const;
  // Of a file that lies with the database's.
  Error file_error(const Error& error, std::string_view doing) const;
  Error damaged(std::string_view what) const;

 private:
  ContentStore(const std::filesystem::path& directory);

  std::string directory_;
  std::shared_ptr<rocksdb::Cache> cache_;
  std::shared_ptr<rocksdb::WriteBufferManager> write_buffers_;
  std::unique_ptr<rocksdb::DB> database_;
};

}  // namespace trawl
