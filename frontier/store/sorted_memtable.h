// SortedMemtable: the memtable of the host queues and of noted depths.
#pragma once

#include <memory>

#include <rocksdb/memtablerep.h>
#include <rocksdb/write_buffer_manager.h>

#include "frontier/store/run_files.h"

namespace trawl {

// The database must have allow_concurrent_memtable_write = false, and flush_verify_memtable_count =
// false, since RocksDB counts a run of URLs as one entry. The column family has no prefix
// extractor.
//
// `handover`: has the run of each reference that is inserted. The memory of those counts in
// `write_buffers`, as what RocksDB copies does. Both may be null: then there are no references.
std::shared_ptr<rocksdb::MemTableRepFactory> sorted_memtables(
    std::shared_ptr<RunHandover> handover = nullptr,
    std::shared_ptr<rocksdb::WriteBufferManager> write_buffers = nullptr);

}  // namespace trawl
