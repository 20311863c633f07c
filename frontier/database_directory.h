// Where a RocksDB database lies: what Trawl sees to before RocksDB opens it.
//
// Making a database is many steps, and RocksDB does not open what a power loss leaves of some of
// them. A file beside RocksDB's, there until the making is done, says that nothing was ever written
// to the database, so that it can be made anew.
#pragma once

#include <cstdint>
#include <filesystem>

#include "trawl/result.h"

namespace trawl {

enum class DatabaseDirectory : std::uint8_t {
  kNew,       // empty, or not there: RocksDB makes a database
  kWhole,     // a database may be opened
  kHeadless,  // its file CURRENT is gone; RocksDB would take it for new, and delete the rest
};

// Makes the directory if need be, removes what is left of a making that was cut short, and marks
// one that is new, durably. Errors: those of the file system.
Result<DatabaseDirectory> prepare_database(const std::filesystem::path& directory);

// The new database is made and opens. Errors: those of the file system.
Result<void> finish_database(const std::filesystem::path& directory);

}  // namespace trawl
