// run_log_env(): has RocksDB sync the runs before each sync of its log.
#pragma once

#include <memory>

#include <rocksdb/env.h>

#include "frontier/store/run_files.h"

namespace trawl {

// `base`, except that a sync of a file of the log first syncs the runs, and fails if that does. The
// batch with a reference is appended to the log after the run was written, so a reference that is
// durable has a durable run. `base` must outlive it.
std::unique_ptr<rocksdb::Env> run_log_env(rocksdb::Env* base, std::shared_ptr<RunFiles> runs);

}  // namespace trawl
