// process_env(): the environment of RocksDB that works in this process, and how children end.
#pragma once

#include <rocksdb/env.h>

namespace trawl {

// RocksDB's default environment, or in a child of fork() one of the child's own. Lives as long as
// the process.
rocksdb::Env* process_env();

// To be called after a database was opened, when RocksDB has made all that has threads. From then
// on children of fork() that call exit() end before its destructors run. What runs in exit() is
// what was registered last first, so handlers registered earlier are left out in children.
void end_children_without_threads();

}  // namespace trawl
