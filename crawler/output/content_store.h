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

// Thread-safe once it is open.
class ContentStore {
 public:
  // Closed.
  explicit ContentStore(const std::filesystem::path& directory);

  // Whether there is a database, or what is left of one.
  bool exists() const;
  // Opens the database, or creates it with this key of the hash that makes its keys; the directory
  // is there. Returns the key that it has. Errors: kInUse, kUnsupportedVersion, kCorrupt, kNoSpace,
  // kIo.
  Result<KeyedHash::Key> open(const KeyedHash::Key& key_if_new);
  bool is_open() const noexcept { return database_ != nullptr; }

  // These need an open database.
  rocksdb::DB& database() const noexcept { return *database_; }
  std::uint64_t estimated_records() const;

  std::uint64_t memory() const;
  Error store_error(const rocksdb::Status& status, std::string_view doing) const;
  // Of a file that lies with the database's.
  Error file_error(const Error& error, std::string_view doing) const;
  Error damaged(std::string_view what) const;

 private:
  Result<KeyedHash::Key> key_or(const KeyedHash::Key& key_if_new);

  std::filesystem::path directory_;
  std::shared_ptr<rocksdb::Cache> cache_;
  std::shared_ptr<rocksdb::WriteBufferManager> write_buffers_;
  std::unique_ptr<rocksdb::DB> database_;
};

}  // namespace trawl
