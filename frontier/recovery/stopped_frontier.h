// StoppedFrontier: a frontier that no process has open, opened without its filter.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trawl/frontier.h"
#include "trawl/result.h"

#include "frontier/recovery/directory_lock.h"
#include "frontier/recovery/manifest.h"
#include "frontier/store/rocks_store.h"

namespace trawl {

struct StoppedFrontier {
  std::optional<DirectoryLock> lock;  // absent where locking is not possible
  std::optional<Manifest> manifest;   // absent if it cannot be read; a warning says why
  std::vector<std::string> warnings;
  std::unique_ptr<Store> store;

  // Opens it for changes. Errors: kInUse, kNotFound, and those of RocksStore::open().
  static Result<StoppedFrontier> open(const std::filesystem::path& directory);
  // Opens it for reading: changes nothing, and needs no write permission. The same errors.
  static Result<StoppedFrontier> open_to_read(const std::filesystem::path& directory);
};

}  // namespace trawl
