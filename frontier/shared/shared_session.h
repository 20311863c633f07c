// SharedSession: what a crawler of a shared frontier keeps in its directory.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "trawl/result.h"

namespace trawl {

// The file `shared-frontier`. Precondition of all functions: the caller has locked the directory,
// so the process whose session is there has ended.
struct SharedSession {
  std::string crawl;    // its name
  std::string member;   // the name that the process had
  std::string id;       // JoinedCrawl::id
  std::string session;  // of the process: a part of the tokens of its leases

  // Nothing if there is no such file. Errors: kCorrupt, kUnsupportedVersion, with what to do; kIo,
  // kPermission.
  static Result<std::optional<SharedSession>> read(const std::filesystem::path& directory);
  // Durably, and at once: a crash leaves the old file or the new one.
  Result<void> write(const std::filesystem::path& directory) const;
  // For a crawler that begins afresh. The file may be absent.
  static Result<void> remove(const std::filesystem::path& directory);

  friend bool operator==(const SharedSession&, const SharedSession&) = default;
};

// A session that no other process has: 32 hexadecimal digits.
std::string new_session();

}  // namespace trawl
