#include "crawler/output/content_store.h"

#include <algorithm>
#include <cstdarg>

#include <fmt/format.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include "base/database_state.h"

namespace trawl {

namespace {

// 16 MiB in all: besides its write buffers a database needs memory to write one file.
constexpr std::size_t kWriteBuffers = 6u << 20;
constexpr std::size_t kBlockCache = 6u << 20;

// Shorter than the other keys, which are fingerprints. Its record: the version, then the hash key.
constexpr const char* kFormatKey = "format";
constexpr char kFormat = 1;

// RocksDB has a log file of its own. If it cannot be written (above all on a full disk), Debian's
// build of the library ends the process at the next line.
class Silent final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

rocksdb::Options options_with(const std::shared_ptr<rocksdb::Cache>& cache,
                              const std::shared_ptr<rocksdb::WriteBufferManager>& buffers) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.info_log = std::make_shared<Silent>();
  options.write_buffer_manager = buffers;
  options.write_buffer_size = kWriteBuffers / 2;
  options.max_write_buffer_number = 2;
  options.max_open_files = 64;
  options.max_total_wal_size = 16u << 20;
  options.bytes_per_sync = 1u << 20;
  options.wal_bytes_per_sync = 1u << 20;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  // Drops a record that a crash left incomplete: its pages are not completed.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  // Digests arrive in random order, so levelled compaction would rewrite each many times.
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
  options.level0_file_num_compaction_trigger = 8;
  options.compression = rocksdb::kNoCompression;
  // Behind the filter of ContentIndex nearly all lookups find their key.
  options.optimize_filters_for_hits = true;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.block_size = 8u << 10;
  table.cache_index_and_filter_blocks = true;
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.pin_top_level_index_and_filter = false;
  table.partition_filters = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

}  // namespace

ContentStore::ContentStore(const std::filesystem::path& directory)
    : directory_(directory),
      cache_(rocksdb::NewLRUCache(kBlockCache, 1, false, 0.5)),
      write_buffers_(std::make_shared<rocksdb::WriteBufferManager>(kWriteBuffers)) {}

bool ContentStore::exists() const {
  return holds_database_files(directory_);
}

Result<KeyedHash::Key> ContentStore::open(const KeyedHash::Key& key_if_new) {
  const auto prepared = prepare_database(directory_);
  if (!prepared) return tl::unexpected(prepared.error());
  if (*prepared == DatabaseState::kHeadless)
    return tl::unexpected(damaged("its file CURRENT is missing"));
  auto options = options_with(cache_, write_buffers_);
  // RocksDB starts the threads even if there are no files to open.
  if (*prepared == DatabaseState::kNew) options.max_file_opening_threads = 1;
  rocksdb::DB* opened = nullptr;
  const auto status = rocksdb::DB::Open(options, directory_.string(), &opened);
  if (!status.ok()) return tl::unexpected(store_error(status, "open"));
  database_.reset(opened);
  auto key = key_or(key_if_new);
  if (key && *prepared == DatabaseState::kNew) {
    if (auto finished = finish_database(directory_); !finished)
      return tl::unexpected(finished.error());
  }
  return key;
}

// The key in the format record; without a record, the database gets one.
Result<KeyedHash::Key> ContentStore::key_or(const KeyedHash::Key& key_if_new) {
  std::string record;
  auto status = database_->Get({}, kFormatKey, &record);
  if (status.IsNotFound()) {
    record = kFormat;
    record.append(key_if_new.begin(), key_if_new.end());
    // Synced: what is written with the key may outlive a power loss.
    rocksdb::WriteOptions options;
    options.sync = true;
    status = database_->Put(options, kFormatKey, record);
  }
  if (!status.ok()) return tl::unexpected(store_error(status, "open"));
  if (record.empty() || record[0] != kFormat) {
    return error(
        ErrorCode::kUnsupportedVersion,
        fmt::format("the index of bodies in {} was written by a newer version of Trawl: use that "
                    "version, or begin the crawl again with trawl crawl --fresh",
                    directory_.string()));
  }
  KeyedHash::Key key;
  if (record.size() != 1 + key.size())
    return tl::unexpected(damaged("its format record has no hash key"));
  std::copy(record.begin() + 1, record.end(), key.begin());
  return key;
}

std::uint64_t ContentStore::estimated_records() const {
  std::uint64_t records = 0;
  return database_->GetIntProperty(rocksdb::DB::Properties::kEstimateNumKeys, &records) ? records
                                                                                        : 0;
}

std::uint64_t ContentStore::memory() const {
  return cache_->GetUsage() + write_buffers_->memory_usage();
}

Error ContentStore::store_error(const rocksdb::Status& status, std::string_view doing) const {
  const std::string text = status.ToString();
  if (status.IsCorruption()) return damaged(text);
  const auto as = [&](ErrorCode code, std::string_view advice) {
    return Error{code, fmt::format("cannot {} the index of bodies in {}: {}; {}", doing,
                                   directory_.string(), text, advice)};
  };
  if (status.IsNoSpace()) return as(ErrorCode::kNoSpace, "free some space, then run trawl resume");
  if (text.find("lock ") != std::string::npos) {
    return as(ErrorCode::kInUse, "another process has it open: stop that process first");
  }
  return as(ErrorCode::kIo, "check the disk and the system log, then run trawl resume");
}

Error ContentStore::file_error(const Error& error, std::string_view doing) const {
  if (error.code == ErrorCode::kCorrupt) return damaged(error.message);
  const std::string_view advice =
      error.code == ErrorCode::kNoSpace ? "free some space, then run trawl resume"
      : error.code == ErrorCode::kUnsupportedVersion
          ? "use a newer Trawl, or begin the crawl again with trawl crawl --fresh"
      : error.code == ErrorCode::kInUse
          ? "another process has it open: stop that process first"
          : "check the disk and the system log, then run trawl resume";
  return {error.code, fmt::format("cannot {} the index of bodies in {}: {}; {}", doing,
                                  directory_.string(), error.message, advice)};
}

Error ContentStore::damaged(std::string_view what) const {
  return {
      ErrorCode::kCorrupt,
      fmt::format("the index of bodies in {} is damaged: {}; remove that directory and run trawl "
                  "resume, which then lists the next copy of each body as new",
                  directory_.string(), what)};
}

}  // namespace trawl
