// StoppedFrontier: a frontier as it lies on disk, opened without its filter.
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
#include "frontier/store/store.h"

namespace trawl {

struct StoppedFrontier {
  std::optional<DirectoryLock> lock;  // none where nobody can write
  std::optional<Manifest> manifest;   // nothing if it cannot be read: a warning says why
  std::vector<std::string> warnings;
  std::unique_ptr<Store> store;

  // To change it. Errors: kInUse, kNotFound, and those of Store::open().
  static Result<StoppedFrontier> open(const std::filesystem::path& directory);
  // To read it: changes nothing, and needs no right to write. The same errors.
  static Result<StoppedFrontier> look_at(const std::filesystem::path& directory);
};

}  // namespace trawl
