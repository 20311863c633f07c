#include "crawler/output/small_database.h"

#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include "base/no_database_log.h"

namespace trawl {

namespace {

// Shorter than the other keys, which are fingerprints.
constexpr const char* kFormatKey = "format";

}  // namespace

std::shared_ptr<rocksdb::Cache> small_database_cache(std::size_t block_bytes) {
  return rocksdb::NewLRUCache(block_bytes, 1, false, 0.5);
}

rocksdb::Options small_database_options(const std::shared_ptr<rocksdb::Cache>& cache,
                                        std::size_t block_size) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.info_log = std::make_shared<NoDatabaseLog>();
  options.max_write_buffer_number = 2;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  // Drops a record that a crash left incomplete: its pages are not completed.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  options.compression = rocksdb::kNoCompression;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.block_size = block_size;
  table.cache_index_and_filter_blocks = true;
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.pin_top_level_index_and_filter = false;
  table.partition_filters = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

rocksdb::Status read_format(rocksdb::DB& database, char version, const KeyedHash::Key& key_if_new,
                            std::string& record) {
  const auto status = database.Get({}, kFormatKey, &record);
  if (!status.IsNotFound()) return status;
  record = version;
  record.append(key_if_new.begin(), key_if_new.end());
  // Synced: what is written with the key may outlive a power loss.
  rocksdb::WriteOptions options;
  options.sync = true;
  return database.Put(options, kFormatKey, record);
}

std::pair<ErrorCode, std::string_view> fault_of(const rocksdb::Status& status) {
  if (status.IsNoSpace()) return {ErrorCode::kNoSpace, "free some space, then run trawl resume"};
  if (status.ToString().find("lock ") != std::string::npos)
    return {ErrorCode::kInUse, "another process has it open: stop that process first"};
  return {ErrorCode::kIo, "check the disk and the system log, then run trawl resume"};
}

}  // namespace trawl
