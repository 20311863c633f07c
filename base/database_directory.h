// Where a RocksDB database lies: what Trawl sees to before RocksDB opens it.
//
// Making a database is many steps, and RocksDB does not open what a power loss leaves of some of
// them. A mark, a file beside RocksDB's that is there until the making is done, says that nothing
// was ever written to the database, so that it can be made anew.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "trawl/result.h"

namespace trawl {

enum class DatabaseState : std::uint8_t {
  kNew,       // empty but for the mark: RocksDB makes a database, then finish_database()
  kWhole,     // a database may be opened
  kHeadless,  // its file CURRENT is gone; RocksDB would take it for new, and delete the rest
};

// What to do about a database that cannot be opened for such a reason.
std::string_view database_advice(ErrorCode code);

// True if a database may be there: it has its file CURRENT and no mark.
bool holds_database(const std::filesystem::path& directory);

// True if anything of one is there: whole, or not finished.
bool holds_any_database(const std::filesystem::path& directory);

// Makes the directory if need be, removes the files that are left of a making that was cut short,
// and marks one that is new, durably. A mark beside tables is wrong, since no making writes any: it
// is taken away. Errors: those of the file system, with what to do.
Result<DatabaseState> prepare_database(const std::filesystem::path& directory);

// The new database is made and opens: takes the mark away, durably. Errors: as above.
Result<void> finish_database(const std::filesystem::path& directory);

// Removes the files of a database, by their names, and the directory if nothing else is in it; a
// symbolic link in its place is removed itself. True if the directory stays, with files of others.
Result<bool> remove_database(const std::filesystem::path& directory);

}  // namespace trawl
