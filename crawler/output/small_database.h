// What a crawl's small databases next to the frontier's have in common: little memory, and keys
// that are hashes, whose own key is in the record of the format.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>

#include "trawl/fingerprint.h"
#include "trawl/result.h"

namespace trawl {

// For `block_bytes` of blocks, indexes and filters in memory.
std::shared_ptr<rocksdb::Cache> small_database_cache(std::size_t block_bytes);
rocksdb::Options small_database_options(const std::shared_ptr<rocksdb::Cache>& cache,
                                        std::size_t block_size);

// Reads the record of the format, `version` and then the key of the hash. A new database gets one,
// with `key_if_new`.
rocksdb::Status read_format(rocksdb::DB& database, char version, const KeyedHash::Key& key_if_new,
                            std::string& record);

// The error and the advice for a status other than Corruption, for which the advice depends on what
// the database holds.
std::pair<ErrorCode, std::string_view> fault_of(const rocksdb::Status& status);

}  // namespace trawl
