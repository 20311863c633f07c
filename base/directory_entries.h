// What lies in a directory, links not followed.
#pragma once

#include <filesystem>
#include <initializer_list>

#include "trawl/result.h"

namespace trawl {

// Whether there is anything of this name, a link to nowhere included.
bool is_entry(const std::filesystem::path& path);
// Whether it is a directory, and empty.
bool is_empty_directory(const std::filesystem::path& path);

// Errors: kInvalidArgument if one of the names in `directory` is a symbolic link.
Result<void> refuse_links(const std::filesystem::path& directory,
                          std::initializer_list<const char*> names);

}  // namespace trawl
