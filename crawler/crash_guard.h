// CrashGuard: ends crash loops: knows which URLs are in flight when a crawl crashes, over its runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

#include "crawler/crash_history.h"
#include "crawler/crash_signals.h"
#include "crawler/in_flight_file.h"

namespace trawl {

// For one crawl, while it has its state directory locked. Thread-safe.
class CrashGuard {
 public:
  // A URL is in flight while one of the copies of its ticket lives.
  using Ticket = std::shared_ptr<const void>;

  // Takes in how the run before ended, and begins a run of at most `transfers` at the same time.
  // Files that are damaged are begun anew, with a warning. Errors: kUnsupportedVersion, kNoSpace,
  // kPermission, kIo.
  static Result<std::unique_ptr<CrashGuard>> open(const std::filesystem::path& state_dir,
                                                  std::uint32_t transfers);
  // The files of a state directory that are this class's own.
  static std::vector<std::filesystem::path> paths(const std::filesystem::path& state_dir);

  // To be called before the request; the ticket is to live until what came of it is durable.
  Ticket begin(std::string_view url);
  // For a URL whose turn it is; `others`: something else is in flight or could be.
  CrashVerdict verdict(std::string_view url, bool others) const;
  // It ends as failed, and is fetched again if it is asked for again. Errors: those of writing.
  Result<void> set_aside(std::string_view url);

  // In flight at both of the last two crashes in a row. Long ones are cut short.
  std::vector<std::string> suspects() const;
  // In flight alone at a third crash, and not yet set aside.
  std::vector<std::string> crashed() const;
  // What set_aside() was told, in this run.
  std::vector<std::string> were_set_aside() const;
  // How the run before ended, if it crashed, and what follows.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // The run ends in order, with nothing in flight. Errors: those of writing.
  Result<void> close();

 private:
  CrashGuard(std::filesystem::path state_dir, CrashHistory history,
             std::vector<std::string> warnings, std::unique_ptr<InFlightFile> file);
  static std::vector<std::string> warnings_of(const InFlightRecord& run,
                                              const CrashHistory& history);
  Result<void> save() const;

  const std::filesystem::path history_path_;
  const std::vector<std::string> warnings_;
  const std::shared_ptr<InFlightFile> file_;
  const CrashMark mark_;

  mutable std::mutex mutex_;
  CrashHistory history_;
  std::vector<InFlightUrl> fetched_;  // suspects that were, in this run
  std::vector<std::string> set_aside_;
  // Whether any URL is suspected or to be set aside: mostly none is, and nothing is looked up.
  const bool any_;
};

}  // namespace trawl
