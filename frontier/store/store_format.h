// Checks the format of a store before anything in it is changed, and translates RocksDB's errors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include <rocksdb/status.h>

#include "trawl/result.h"

#include "frontier/store/rocks_options.h"

namespace trawl {

inline constexpr std::uint32_t kStoreFormat = 8;
// The oldest format that can be opened; opening upgrades it to the current one.
inline constexpr std::uint32_t kOldestStoreFormat = 3;

// Checks the stored value. Errors: kUnsupportedVersion, kCorrupt.
Result<void> check_store_format(std::string_view value);

// Refuses a store of another format before it is opened: opening replays the log, writes tables in
// its place and adds the missing column families, so that the version of Trawl that began the store
// could no longer use it, and a log of a format that is not known would be lost.
//
// The format is looked at only if the column families are not those of this version: reading it
// reads the whole log, for up to half of the CPU time of opening. So a format whose log earlier
// versions would replay wrongly must add a family. Format 7 added kRuns, as formats 6 and 7 had the
// same ones, and format 8 kRunFiles. Opening adds it before check_format() stores the number, and
// runs are written only then: if an upgrade is interrupted, the log of a store without kRuns has no
// runs, and that of one without kRunFiles no references to files.
//
// The store must exist. A store without a format number is accepted: its creation was interrupted.
// Errors: as check_store_format(), kIo, ...
Result<void> check_store_families(const std::filesystem::path& directory,
                                  const RocksOptions& options);

// What became of an attempt at `doing` the store ("write to"), and what to do.
Error store_error(const rocksdb::Status& status, std::string_view doing);
Error store_error(const Error& cause, std::string_view doing);
// kCorrupt: `what` is wrong with the store, and what to do.
tl::unexpected<Error> store_damaged(std::string_view what);

}  // namespace trawl
