// StateDirectory: creating, locking, reading and removing the directory of a frontier.
#pragma once

#include <filesystem>

#include "trawl/embedded_options.h"
#include "trawl/result.h"

#include "frontier/recovery/directory_lock.h"
#include "frontier/recovery/manifest.h"

namespace trawl {

struct StateDirectory {
  DirectoryLock lock;
  Manifest manifest;  // if not resumed: new and not yet published
  bool resumed;
  bool ledger = false;            // whether this crawl keeps a ledger; may differ from the options
  bool profile_replaced = false;  // resumed with another profile, which was published
};

// Creates the directory if the mode allows it, locks it, and reads its manifest.
Result<StateDirectory> open_state_directory(const EmbeddedOptions& options);

// The last step of creating a crawl: afterwards the directory holds one.
Result<void> publish_new_crawl(const Manifest& manifest, std::uint64_t admitted,
                               const std::filesystem::path& directory);

// EmbeddedFrontier::look_at() and remove().
Result<FrontierDirectory> inspect_state_directory(const std::filesystem::path& directory);
Result<std::vector<std::filesystem::path>> remove_state_directory(
    const std::filesystem::path& directory, bool remains);

std::filesystem::path store_path(const std::filesystem::path& directory);
// The error for a store with URLs but without a manifest.
Error lost_manifest(const std::filesystem::path& directory);
// Whether there is a store, with or without a manifest.
bool holds_store(const std::filesystem::path& directory);

}  // namespace trawl
