// The format of a store: told before anything in it is changed. And what RocksDB's errors mean.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include <rocksdb/status.h>

#include "trawl/result.h"

#include "frontier/store/store_options.h"

namespace trawl {

inline constexpr std::uint32_t kStoreFormat = 5;
// The oldest that is opened; it then becomes the current one.
inline constexpr std::uint32_t kOldestStoreFormat = 3;

// Of the value stored as the format. Errors: kUnsupportedVersion, kCorrupt.
Result<void> check_store_format(std::string_view value);

// Opening a store that lacks some of the column families would add them: a store of another format
// is refused before that, so that the Trawl that began it can still go on with it. There must be a
// store. One without a format is fine: an earlier Trawl's making of it was cut short. Errors: as
// check_store_format(), kIo, ...
Result<void> check_store_families(const std::filesystem::path& directory,
                                  const StoreOptions& options);

Error store_error(const rocksdb::Status& status, std::string_view doing);

}  // namespace trawl
