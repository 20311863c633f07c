#include "crawler/output/content_store.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/database_state.h"
#include "crawler/output/small_database.h"

namespace trawl {

namespace {

// 16 MiB in all: besides its write buffers a database needs memory to write one file.
constexpr std::size_t kWriteBuffers = 6u << 20;
constexpr std::size_t kBlockCache = 6u << 20;

constexpr char kFormat = 1;

rocksdb::Options options_with(const std::shared_ptr<rocksdb::Cache>& cache,
                              const std::shared_ptr<rocksdb::WriteBufferManager>& buffers) {
  rocksdb::Options options = small_database_options(cache, 8u << 10);
  options.write_buffer_manager = buffers;
  options.write_buffer_size = kWriteBuffers / 2;
  options.max_open_files = 64;
  options.max_total_wal_size = 16u << 20;
  options.bytes_per_sync = 1u << 20;
  options.wal_bytes_per_sync = 1u << 20;
  // Digests arrive in random order, so levelled compaction would rewrite each many times.
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
  options.level0_file_num_compaction_trigger = 8;
  // Behind the filter of ContentIndex nearly all lookups find their key.
  options.optimize_filters_for_hits = true;
  return options;
}

}  // namespace

ContentStore::ContentStore(const std::filesystem::path& directory)
    : directory_(directory),
      cache_(small_database_cache(kBlockCache)),
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
  options.max_file_opening_threads = table_opening_threads(directory_);
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
  const auto status = read_format(*database_, kFormat, key_if_new, record);
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
  if (status.IsCorruption()) return damaged(status.ToString());
  const auto [code, advice] = fault_of(status);
  return {code, fmt::format("cannot {} the index of bodies in {}: {}; {}", doing,
                            directory_.string(), status.ToString(), advice)};
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
