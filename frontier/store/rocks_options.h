// RocksOptions: RocksDB's options for each of the store's column families.
#pragma once

#include <memory>
#include <vector>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/write_buffer_manager.h>

#include "frontier/store/memory_plan.h"
#include "frontier/store/run_files.h"
#include "frontier/store/store_families.h"

namespace trawl {

struct RocksOptions {
  rocksdb::DBOptions database;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;  // in the order of StoreFamily
  std::shared_ptr<rocksdb::Cache> cache;
  std::shared_ptr<rocksdb::WriteBufferManager> write_buffers;
  std::shared_ptr<RunHandover> handover;  // to the memtables of kPending

  static RocksOptions of(const MemoryPlan& memory);
};

}  // namespace trawl
