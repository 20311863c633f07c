// Entries of a directory, without following links.
#pragma once

#include <filesystem>
#include <initializer_list>

#include "trawl/result.h"

namespace trawl {

// Whether an entry exists, including a dangling link.
bool is_entry(const std::filesystem::path& path);
// Whether the path is an empty directory.
bool is_empty_directory(const std::filesystem::path& path);

// Errors: kInvalidArgument if one of the names in `directory` is a symbolic link.
Result<void> refuse_links(const std::filesystem::path& directory,
                          std::initializer_list<const char*> names);

}  // namespace trawl
