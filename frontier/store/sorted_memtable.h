// SortedMemtable: the memtable of the host queues and of noted depths.
#pragma once

#include <memory>

#include <rocksdb/memtablerep.h>

namespace trawl {

// The database must have allow_concurrent_memtable_write = false, and flush_verify_memtable_count =
// false, since RocksDB counts a run of URLs as one entry. The column family has no prefix
// extractor.
std::shared_ptr<rocksdb::MemTableRepFactory> sorted_memtables();

}  // namespace trawl
