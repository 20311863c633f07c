// Checks the format of a store before anything in it is changed, and translates RocksDB's errors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include <rocksdb/status.h>

#include "trawl/result.h"

#include "frontier/store/rocks_options.h"

namespace trawl {

inline constexpr std::uint32_t kStoreFormat = 7;
// The oldest format that can be opened; opening upgrades it to the current one.
inline constexpr std::uint32_t kOldestStoreFormat = 3;

// Checks the stored value. Errors: kUnsupportedVersion, kCorrupt.
Result<void> check_store_format(std::string_view value);

// Refuses a store of another format before it is opened: opening would add the missing column
// families, and the version of Trawl that began it could then no longer use it. The store must
// exist. A store without a format number is accepted: its creation was interrupted. Errors: as
// check_store_format(), kIo, ...
Result<void> check_store_families(const std::filesystem::path& directory,
                                  const RocksOptions& options);

Error store_error(const rocksdb::Status& status, std::string_view doing);

}  // namespace trawl
