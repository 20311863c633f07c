// EmbeddedFrontier: the durable frontier, in a directory that one process uses at a time.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trawl/embedded_options.h"
#include "trawl/frontier.h"
#include "trawl/result.h"

namespace trawl {

// A Frontier in a directory. It survives kill -9 at any instant: at most the URLs with open leases
// are leased twice. A page's links are durable no later than its completion. The calls of this
// class are for a directory that no process has open.
class EmbeddedFrontier {
 public:
  // Opens or creates a frontier; `report`, if given, receives what was found. Errors:
  // kInvalidArgument, kInUse (another process has it open), kAlreadyExists, kNotFound, kCorrupt,
  // kProfileMismatch, kUnsupportedVersion, kNoSpace, kPermission, kIo.
  [[nodiscard]] static Result<std::unique_ptr<Frontier>> open(const EmbeddedOptions& options,
                                                              OpenReport* report = nullptr);

  // Inspects a directory without changing it. Errors: kPermission, kIo; kInvalidArgument if one of
  // the frontier's files is a symbolic link.
  [[nodiscard]] static Result<FrontierDirectory> look_at(const std::filesystem::path& directory);
  // Locks a directory against other processes, as an open frontier does, until the returned pointer
  // is destroyed. Errors: kInUse, kPermission, kNoSpace, kIo.
  [[nodiscard]] static Result<std::shared_ptr<const void>> lock(
      const std::filesystem::path& directory);
  // Deletes the files of the frontier in `directory` and nothing else; succeeds if there is no
  // frontier. With `remains` it also deletes the remains of a frontier that has lost its MANIFEST:
  // the database's files in `store`, if the lock file is there too. Returns the frontier's
  // directories that it could not remove because they hold other files. Errors: kInUse,
  // kPermission, kIo.
  [[nodiscard]] static Result<std::vector<std::filesystem::path>> remove(
      const std::filesystem::path& directory, bool remains = false);
  // For a directory that open() refuses because no checkpoint in it is intact: builds a new filter
  // from the store's records and publishes it. `options` as for open(). Does nothing to a directory
  // that open() accepts. Errors: as open().
  [[nodiscard]] static Result<RepairReport> repair(const EmbeddedOptions& options);
  // Revives parked hosts: those named (as in Lease::host), or all if none is. Reads only the store,
  // no checkpoint. Errors: kInUse, kNotFound, kCorrupt, kUnsupportedVersion, kNoSpace, kPermission,
  // kIo.
  [[nodiscard]] static Result<ReviveReport> revive(const std::filesystem::path& directory,
                                                   std::span<const std::string> hosts = {});
};

}  // namespace trawl
