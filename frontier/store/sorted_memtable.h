// SortedMemtable: the memtable of the host queues.
#pragma once

#include <memory>

#include <rocksdb/memtablerep.h>

namespace trawl {

// For a column family that is read by iterators alone: the base class's Get() leaks. The database
// must have allow_concurrent_memtable_write = false, and flush_verify_memtable_count = false, since
// RocksDB counts a run of URLs as one entry.
std::shared_ptr<rocksdb::MemTableRepFactory> sorted_memtables();

}  // namespace trawl
