// The directory of a RocksDB database: what Trawl checks before RocksDB opens it.
//
// Creating a database takes many steps, and RocksDB cannot open what a power loss leaves after some
// of them. A mark, a file next to RocksDB's that exists until the creation is complete, shows that
// nothing was ever written to the database, so that it can be created again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "trawl/result.h"

namespace trawl {

enum class DatabaseState : std::uint8_t {
  kNew,       // only the mark: RocksDB creates the database, then finish_database()
  kWhole,     // the database can be opened
  kHeadless,  // its file CURRENT is missing; RocksDB would create a new one and delete the rest
};

// Advice for a database that cannot be opened because of this error.
std::string_view database_advice(ErrorCode code);

// True if there is a complete database: a file CURRENT and no mark.
bool holds_database(const std::filesystem::path& directory);

// True if there is any part of a database, complete or not.
bool holds_any_database(const std::filesystem::path& directory);

// True if there is any file with a name of RocksDB's, or the mark.
bool holds_database_files(const std::filesystem::path& directory);

// Creates the directory if it is missing, removes the files of an interrupted creation, and marks a
// new database, durably. A mark next to tables must be wrong, since creation writes none: it is
// removed. Errors: those of the file system, with advice.
Result<DatabaseState> prepare_database(const std::filesystem::path& directory);

// With how many threads RocksDB should open the tables (max_file_opening_threads). It starts that
// many for each column family, 16 by default, even where there are no tables.
int table_opening_threads(const std::filesystem::path& directory);

// Makes the files of a new database durable, if they were written without syncs. Errors: as above.
Result<void> sync_database(const std::filesystem::path& directory);

// Removes the mark, durably, when the new database has been created and opened. Errors: as above.
Result<void> finish_database(const std::filesystem::path& directory);

// Removes the files of a database, by their names, and the directory if it is then empty. A
// symbolic link is removed, not followed. Returns true if the directory stays because it has other
// files.
Result<bool> remove_database(const std::filesystem::path& directory);

}  // namespace trawl
