#include "base/directory_entries.h"

#include <system_error>

#include <fmt/format.h>

namespace trawl {

namespace fs = std::filesystem;

bool is_entry(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

bool is_empty_directory(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(path, error)) && fs::is_empty(path, error) && !error;
}

Result<void> refuse_links(const fs::path& directory, std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    std::error_code failure;
    const fs::path path = directory / name;
    if (!fs::is_symlink(fs::symlink_status(path, failure))) continue;
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("{} is a symbolic link, which a state directory must not contain: "
                             "put the file or directory itself there",
                             path.string()));
  }
  return {};
}

}  // namespace trawl
