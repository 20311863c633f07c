#include "frontier/store/rocks_options.h"

#include <algorithm>
#include <array>
#include <thread>

#include <rocksdb/filter_policy.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/table_properties_collectors.h>

#include "base/no_database_log.h"
#include "frontier/store/process_env.h"
#include "frontier/store/sorted_memtable.h"
#include "frontier/store/store_records.h"

namespace trawl {

namespace {

constexpr std::array<const char*, kFamilies> kNames = {
    "default", "pending", "deferred",  "hosts", "admissions",
    "ledger",  "depths",  "set_aside", "runs",  "run_files"};

// A merge operator that keeps the smallest depth.
class SmallestDepth final : public rocksdb::AssociativeMergeOperator {
 public:
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice* existing, const rocksdb::Slice& value,
             std::string* out, rocksdb::Logger*) const override {
    const auto depth = decode_depth({value.data(), value.size()});
    if (!depth) return false;
    std::uint32_t smallest = *depth;
    if (existing != nullptr) {
      const auto before = decode_depth({existing->data(), existing->size()});
      if (!before) return false;
      smallest = std::min(smallest, *before);
    }
    out->assign(view(encode_depth(smallest)));
    return true;
  }
  const char* Name() const override { return "trawl.SmallestDepth"; }
};

rocksdb::BlockBasedTableOptions table_options(const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  // Count index and filter blocks in the cache, so that memory does not grow with the number of
  // files.
  table.cache_index_and_filter_blocks = true;
  table.pin_top_level_index_and_filter = false;
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.block_size = 8u << 10;
  return table;
}

void add_bloom_filters(rocksdb::BlockBasedTableOptions& table) {
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.partition_filters = true;
}

// Level compaction rewrites more often, universal compaction takes more disk space for a while.
void rewrite_seldom(rocksdb::ColumnFamilyOptions& options) {
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
  options.level0_file_num_compaction_trigger = 8;
}

// Small memtables stay in the processor's caches, which speeds up insertions. With more memory
// several of them are merged into one table, so that fewer and larger tables are rewritten. A read
// looks into each that waits, so they are few.
constexpr std::uint64_t kMemtable = 8u << 20;
constexpr std::uint64_t kMostMerged = 4;

// A flush, which puts memtables in order, takes about a third of the CPU time of a new URL, so that
// many processors need several at once. RocksDB gives flushes a quarter of its jobs.
std::uint64_t flush_threads() {
  // Asked once: the C library opens a file to answer.
  static const unsigned threads = std::clamp(std::thread::hardware_concurrency() * 3 / 8, 1u, 8u);
  return threads;
}

void plan_memtables(std::uint64_t write_buffers, rocksdb::ColumnFamilyOptions& options) {
  const std::uint64_t flushes = flush_threads();
  const std::uint64_t merged =
      std::clamp<std::uint64_t>(write_buffers / (2 * (flushes + 1)) / kMemtable, 1, kMostMerged);
  options.write_buffer_size = std::min(write_buffers / (flushes + 3), kMemtable);
  options.min_write_buffer_number_to_merge = static_cast<int>(merged);
  // As many are filled while others are merged.
  options.max_write_buffer_number = static_cast<int>((flushes + 1) * merged + 2);
}

rocksdb::ColumnFamilyOptions family_options(StoreFamily family, const RocksOptions& store,
                                            const MemoryPlan& memory) {
  rocksdb::ColumnFamilyOptions options;
  options.compression = rocksdb::kLZ4Compression;
  options.level_compaction_dynamic_level_bytes = true;
  plan_memtables(memory.write_buffers, options);
  auto table = table_options(store.cache);
  switch (family) {
    case kPending:
      rewrite_seldom(options);  // many URLs end before they are rewritten at all
      options.memtable_factory = sorted_memtables(store.handover, store.write_buffers);
      break;
    case kDeferred:
      break;
    case kAdmissions:
      options.compression = rocksdb::kNoCompression;  // fingerprints are random
      break;
    case kLedger:
      rewrite_seldom(options);
      options.compression = rocksdb::kNoCompression;  // fingerprints are random
      table.block_size = 4u << 10;
      add_bloom_filters(table);
      // Most lookups succeed.
      options.optimize_filters_for_hits = true;
      break;
    case kDepths:
      options.merge_operator = std::make_shared<SmallestDepth>();
      options.compression = rocksdb::kNoCompression;  // fingerprints are random
      rewrite_seldom(options);
      // With more URLs waiting than WaitingDepths has room for, a page notes several, which are
      // rarely read.
      options.memtable_factory = sorted_memtables();
      add_bloom_filters(table);
      break;
    case kHosts:
    case kSetAside:
      add_bloom_filters(table);
      break;
    case kMeta:
    case kRuns:
    case kRunFiles:
    case kFamilies:
      break;
  }
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

}  // namespace

RocksOptions RocksOptions::of(const MemoryPlan& memory) {
  RocksOptions options;
  options.cache = rocksdb::NewLRUCache(memory.block_cache, 2, false, 0.5);
  options.write_buffers = std::make_shared<rocksdb::WriteBufferManager>(memory.write_buffers);
  options.handover = std::make_shared<RunHandover>();
  auto& database = options.database;
  database.env = process_env();
  database.create_if_missing = true;
  database.create_missing_column_families = true;
  database.write_buffer_manager = options.write_buffers;
  // The committer alone writes at a time; sorted_memtables() rely on it.
  database.allow_concurrent_memtable_write = false;
  // sorted_memtables() rely on it, too.
  database.flush_verify_memtable_count = false;
  database.max_open_files = 256;
  // Of four one flushes and the others compact: while one rewrites the largest files, another keeps
  // up with new ones.
  database.max_background_jobs = static_cast<int>(4 * flush_threads());
  database.compaction_readahead_size = 256u << 10;
  // Writes back continuously, so that a sync has little left to do.
  database.bytes_per_sync = 1u << 20;
  database.wal_bytes_per_sync = 1u << 20;
  database.stats_dump_period_sec = 0;
  database.stats_persist_period_sec = 0;
  database.info_log = std::make_shared<NoDatabaseLog>();
  database.max_total_wal_size = std::max<std::uint64_t>(2 * memory.write_buffers, 32u << 20);
  // Drops everything after the first damaged write, whether it was truncated by a crash or damaged
  // otherwise. The store then has the state of an earlier moment; filter_recovery.cc handles
  // checkpoints newer than that.
  database.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const auto family = static_cast<StoreFamily>(i);
    options.families.emplace_back(kNames[i], family_options(family, options, memory));
  }
  return options;
}

}  // namespace trawl
