// EmbeddedFrontier: the durable frontier, in a directory of its own, used by one process.
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

// A Frontier in a directory. It survives kill -9 at any instant: at most the URLs whose leases were
// open are leased twice. A page's links and its end are durable together. The calls of this class
// are for a directory that no process has open.
class EmbeddedFrontier {
 public:
  // Opens or creates a frontier; `report`, if given, says how it was found. Errors:
  // kInvalidArgument, kInUse (another process has it open), kAlreadyExists, kNotFound, kCorrupt,
  // kProfileMismatch, kUnsupportedVersion, kNoSpace, kPermission, kIo.
  [[nodiscard]] static Result<std::unique_ptr<Frontier>> open(const EmbeddedOptions& options,
                                                              OpenReport* report = nullptr);

  // Looks into a directory, and changes nothing. Errors: kPermission, kIo; kInvalidArgument if
  // one of a frontier's files there is a symbolic link.
  [[nodiscard]] static Result<FrontierDirectory> look_at(const std::filesystem::path& directory);
  // Keeps other processes out of a directory, as an open frontier does, as long as the answer
  // lives. Errors: kInUse, kPermission, kNoSpace, kIo.
  [[nodiscard]] static Result<std::shared_ptr<const void>> lock(
      const std::filesystem::path& directory);
  // Deletes the frontier in `directory`, its own files only; none there is no error. With `remains`
  // also what is left of one without a MANIFEST: the database's files in `store`, if there is a
  // lock file beside it. Returns those of its directories that stay, since there are files of
  // others in them. Errors: kInUse, kPermission, kIo.
  [[nodiscard]] static Result<std::vector<std::filesystem::path>> remove(
      const std::filesystem::path& directory, bool remains = false);
  // For a directory that open() refuses since no checkpoint in it is intact: makes a filter anew
  // from what the store still knows, and publishes it. `options` as for open(). Does nothing to a
  // directory that opens as it is. Errors: as open().
  [[nodiscard]] static Result<RepairReport> repair(const EmbeddedOptions& options);
  // Revives parked hosts: those named as in Lease::host, or all. Reads the store alone, no
  // checkpoint. Errors: kInUse, kNotFound, kCorrupt, kUnsupportedVersion, kNoSpace, kPermission,
  // kIo.
  [[nodiscard]] static Result<ReviveReport> revive(const std::filesystem::path& directory,
                                                   std::span<const std::string> hosts = {});
};

}  // namespace trawl
