#include "crawler/output/durable_directory.h"

#include <system_error>
#include <vector>

#include "base/file_io.h"

namespace trawl {

Result<void> make_durable_directory(const std::filesystem::path& directory) {
  std::error_code error;
  std::vector<std::filesystem::path> missing;  // the deepest first
  auto level = std::filesystem::absolute(directory, error);
  while (!error && !level.empty() && !std::filesystem::exists(level, error) && !error) {
    missing.push_back(level);
    if (level == level.parent_path()) break;
    level = level.parent_path();
  }
  error.clear();  // create_directories() reports what is wrong
  std::filesystem::create_directories(directory, error);
  if (error) {
    return tl::unexpected(
        system_error(error.value(), "cannot create the directory " + directory.string()));
  }
  for (const auto& made : missing) {
    if (auto synced = sync_directory(made.parent_path().string()); !synced) return synced;
  }
  return {};
}

}  // namespace trawl
