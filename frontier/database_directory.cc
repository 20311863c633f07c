#include "frontier/database_directory.h"

#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "filter/file_io.h"

namespace trawl {

namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = "UNFINISHED";

tl::unexpected<Error> failed(const std::error_code& error, const char* doing,
                             const fs::path& path) {
  return tl::unexpected(
      system_error(error.value(), fmt::format("cannot {} {}", doing, path.string())));
}

Result<std::vector<fs::path>> files_in(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    files.push_back(it->path());
  if (error) return failed(error, "read the directory", directory);
  return files;
}

// All but the mark, which stays until there is a database.
Result<void> remove_remains(const std::vector<fs::path>& files) {
  for (const auto& path : files) {
    if (path.filename() == kMark) continue;
    std::error_code error;
    fs::remove_all(path, error);
    if (error) return failed(error, "remove", path);
  }
  return {};
}

Result<void> mark(const fs::path& directory) {
  if (auto made = OutputFile::create((directory / kMark).string()); !made)
    return tl::unexpected(made.error());
  return sync_directory(directory.string());
}

bool is_of_a_database(const fs::path& file) {
  return file.extension() == ".sst" || file.extension() == ".log";
}

}  // namespace

Result<DatabaseDirectory> prepare_database(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return failed(error, "create the directory", directory);
  const auto files = files_in(directory);
  if (!files) return tl::unexpected(files.error());
  bool marked = false;
  bool has_head = false;
  bool holds_data = false;
  for (const auto& path : *files) {
    marked |= path.filename() == kMark;
    has_head |= path.filename() == "CURRENT";
    holds_data |= is_of_a_database(path);
  }
  if (!marked && has_head) return DatabaseDirectory::kWhole;
  if (!marked && holds_data) return DatabaseDirectory::kHeadless;
  if (auto begun = marked ? remove_remains(*files) : mark(directory); !begun)
    return tl::unexpected(begun.error());
  return DatabaseDirectory::kNew;
}

Result<void> finish_database(const fs::path& directory) {
  std::error_code error;
  fs::remove(directory / kMark, error);
  if (error) return failed(error, "remove", directory / kMark);
  return sync_directory(directory.string());
}

}  // namespace trawl
