// ProcessUsage: what this process uses of the machine, as the kernel counts it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "trawl/clocks.h"

namespace trawl {

struct ProcessUsage {
  double cpu_seconds = 0;
  std::uint64_t resident = 0;  // bytes
  std::uint64_t peak_resident = 0;
  std::uint64_t virtual_memory = 0;
  std::uint64_t open_files = 0;
  std::uint64_t max_files = 0;
  std::uint64_t threads = 0;
  SystemTime started = {};

  // What cannot be read is 0.
  static ProcessUsage now();
};

// Bytes that a user may still write where `directory` is.
std::optional<std::uint64_t> free_disk_space(const std::filesystem::path& directory);

}  // namespace trawl
