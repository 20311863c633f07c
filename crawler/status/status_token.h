// status_token: the secret of the status server, in a file of the state directory.
#pragma once

#include <filesystem>
#include <string>

#include "trawl/result.h"

namespace trawl {

std::filesystem::path status_token_path(const std::filesystem::path& state_dir);
// Reads the token, or makes one of 128 random bits. The file has mode 0600. A file that others may
// read, or that holds no token, is replaced. Errors: those of reading and writing it.
Result<std::string> status_token(const std::filesystem::path& state_dir);

// 32 random hexadecimal digits.
std::string random_hex();

}  // namespace trawl
