#include "base/database_state.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/directory_entries.h"
#include "base/file_io.h"

namespace trawl {

namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = "UNFINISHED";
constexpr const char* kHead = "CURRENT";

Error with_advice(Error error) {
  error.message.append("; ").append(database_advice(error.code));
  return error;
}

Result<void> done(const std::error_code& error, std::string_view what, const fs::path& path) {
  if (!error) return {};
  return tl::unexpected(
      system_error(error.value(), fmt::format("cannot {} {}", what, path.string())));
}

bool is_table(const fs::path& file) {
  return file.extension() == ".sst";
}

struct Found {
  bool mark = false;
  bool head = false;
  bool tables = false;
  bool logs = false;
};

Result<Found> look_into(const fs::path& directory, std::vector<fs::path>& files) {
  Found found;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->is_directory(ignored)) continue;  // RocksDB creates no subdirectories
    const fs::path& path = it->path();
    files.push_back(path);
    found.mark |= path.filename() == kMark;
    found.head |= path.filename() == kHead;
    found.tables |= is_table(path);
    found.logs |= path.extension() == ".log";
  }
  if (auto read = done(error, "read the directory", directory); !read)
    return tl::unexpected(read.error());
  return found;
}

Result<void> mark(const fs::path& directory) {
  if (auto made = OutputFile::create((directory / kMark).string()); !made)
    return tl::unexpected(made.error());
  return sync_directory(directory.string());
}

Result<void> take_mark_away(const fs::path& directory) {
  std::error_code error;
  fs::remove(directory / kMark, error);
  return done(error, "remove", directory / kMark).and_then([&] {
    return sync_directory(directory.string());
  });
}

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Whether `name` is a prefix, digits and an ending: "000012.sst" with the ending ".sst".
bool is_numbered(std::string_view name, std::string_view prefix, std::string_view ending) {
  return name.size() > prefix.size() + ending.size() && name.starts_with(prefix) &&
         name.ends_with(ending) &&
         is_number(name.substr(prefix.size(), name.size() - prefix.size() - ending.size()));
}

// Whether `name` is one of RocksDB's file names (its db/filename.h), a file with runs of the
// store's (frontier/store/run_files.h), or the mark.
bool is_database_file(std::string_view name) {
  for (const std::string_view whole : {"UNFINISHED", "CURRENT", "IDENTITY", "LOCK", "LOG"}) {
    if (name == whole) return true;
  }
  for (const std::string_view ending : {".sst", ".log", ".run", ".blob", ".dbtmp"}) {
    if (is_numbered(name, "", ending)) return true;
  }
  return is_numbered(name, "MANIFEST-", "") || is_numbered(name, "LOG.old.", "") ||
         is_numbered(name, "OPTIONS-", "") || is_numbered(name, "OPTIONS-", ".dbtmp");
}

// Removes RocksDB's files, but not the mark, which stays until there is a database.
Result<void> remove_remains(const std::vector<fs::path>& files) {
  for (const auto& path : files) {
    if (path.filename() == kMark || !is_database_file(path.filename().string())) continue;
    std::error_code error;
    fs::remove(path, error);
    if (auto removed = done(error, "remove", path); !removed) return removed;
  }
  return {};
}

Result<DatabaseState> prepare(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (auto made = done(error, "create the directory", directory); !made)
    return tl::unexpected(made.error());
  std::vector<fs::path> files;
  auto found = look_into(directory, files);
  if (!found) return tl::unexpected(found.error());
  if (found->mark && found->tables) {
    if (auto unmarked = take_mark_away(directory); !unmarked)
      return tl::unexpected(unmarked.error());
    found->mark = false;
  }
  if (!found->mark && found->head) return DatabaseState::kWhole;
  if (!found->mark && (found->tables || found->logs)) return DatabaseState::kHeadless;
  if (auto begun = found->mark ? remove_remains(files) : mark(directory); !begun)
    return tl::unexpected(begun.error());
  return DatabaseState::kNew;
}

}  // namespace

std::string_view database_advice(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNoSpace:
      return "free some space, then open it again";
    case ErrorCode::kCorrupt:
      return "restore the state directory from a backup, or start over";
    case ErrorCode::kPermission:
      return "give this user write permission there, then open it again";
    default:
      return "check the disk and the system's log, then open it again";
  }
}

bool holds_any_database(const fs::path& directory) {
  return is_entry(directory / kHead) || is_entry(directory / kMark);
}

bool holds_database_files(const fs::path& directory) {
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (is_database_file(it->path().filename().string())) return true;
  }
  return false;
}

bool holds_database(const fs::path& directory) {
  std::error_code error;
  return fs::exists(directory / kHead, error) && !fs::exists(directory / kMark, error);
}

Result<DatabaseState> prepare_database(const fs::path& directory) {
  return prepare(directory).map_error(with_advice);
}

int table_opening_threads(const fs::path& directory) {
  constexpr int kTablesOfOne = 8;
  constexpr int kMost = 16;
  std::vector<fs::path> files;
  static_cast<void>(look_into(directory, files));  // an error is reported where it is opened
  const auto tables = std::ranges::count_if(files, is_table);
  return std::clamp(static_cast<int>(tables) / kTablesOfOne, 1, kMost);
}

Result<void> sync_database(const fs::path& directory) {
  std::vector<fs::path> files;
  if (auto found = look_into(directory, files); !found)
    return tl::unexpected(with_advice(found.error()));
  for (const fs::path& path : files) {
    const std::string name = path.filename().string();
    if (!is_database_file(name) || name == kMark || name == "LOCK") continue;
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (file.get() < 0)
      return tl::unexpected(with_advice(system_error(errno, "cannot sync " + path.string())));
    if (auto synced = sync_file(file.get(), path.string()); !synced)
      return tl::unexpected(with_advice(synced.error()));
  }
  return sync_directory(directory.string()).map_error(with_advice);
}

Result<void> finish_database(const fs::path& directory) {
  return take_mark_away(directory).map_error(with_advice);
}

Result<bool> remove_database(const fs::path& directory) {
  std::error_code error;
  const auto status = fs::symlink_status(directory, error);
  if (!fs::exists(status)) return false;
  std::vector<fs::path> files;
  bool others = false;
  if (fs::is_directory(status)) {
    for (fs::directory_iterator it(directory, error), end; !error && it != end;
         it.increment(error)) {
      std::error_code ignored;
      const bool ours = it->symlink_status(ignored).type() != fs::file_type::directory &&
                        is_database_file(it->path().filename().string());
      if (ours) files.push_back(it->path());
      others |= !ours;
    }
    if (auto read = done(error, "read the directory", directory); !read)
      return tl::unexpected(read.error());
  }
  if (!others) files.push_back(directory);
  for (const fs::path& path : files) {
    fs::remove(path, error);
    if (auto removed = done(error, "remove", path); !removed)
      return tl::unexpected(removed.error());
  }
  return others;
}

}  // namespace trawl
