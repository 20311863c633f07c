// CrashGuard: ends crash loops: knows which URLs are in flight when a crawl crashes, over its runs,
// and has those that may be the cause fetched last, one at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

#include "base/mutex.h"
#include "crawler/crash/crash_history.h"
#include "crawler/crash/crash_signals.h"
#include "crawler/crash/in_flight_file.h"

namespace trawl {

// What is to be done with a lease for which a URL is to be asked for.
enum class CrashVerdict : std::uint8_t {
  kFetch,
  kWait,      // a suspect is being fetched alone
  kPutOff,    // the URL is a suspect: when nothing else is left
  kSetAside,  // the crawl crashed with the URL alone in flight
};

// For one crawl, while it has its state directory locked. Thread-safe.
class CrashGuard {
 public:
  // Why the frontier holds a URL that was put off, and why one that was set aside failed.
  static constexpr std::string_view kSuspect = "crash suspect";
  static constexpr std::string_view kCrashed = "crashed";

  // A URL is in flight while one of the copies of its ticket lives. When the last is gone it is no
  // suspect any more in this run. May outlive the guard.
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
  // `asked` is the URL that is to be asked for on behalf of the lease of `leased`: the same, or its
  // robots.txt. `leases`: how many are open now, this one included.
  CrashVerdict verdict(std::string_view asked, std::string_view leased,
                       const std::atomic<std::uint64_t>& leases);
  // After kSetAside, when the URL ends as failed: it is fetched again if it is asked for again.
  // Errors: those of writing.
  Result<void> set_aside(std::string_view asked);
  // The same for a robots.txt, whose host is left alone: it is not asked for again in this run.
  // False if it was before.
  bool leave_alone(std::string_view asked);

  // After kPutOff, when the lease's URL waits elsewhere.
  void put_off(std::string leased, std::string asked);
  struct Next {
    std::vector<std::string> leased;  // to be queued again; none: nothing was put off
    bool alone = false;               // it is one, and verdict() lets it be fetched
  };
  bool has_put_off() const;
  // To be called when no lease is open and nothing else is to be done.
  Next next_put_off();
  // How many tickets live.
  std::uint64_t in_flight() const { return flight_->tickets.load(std::memory_order_relaxed); }
  // A suspect is being fetched: nothing is to be leased.
  bool is_alone() const { return flight_->alone.load(std::memory_order_relaxed); }

  // In flight at both of the last two crashes in a row. Long ones are cut short.
  std::vector<std::string> suspects() const;
  // In flight alone at a third crash, and not yet set aside.
  std::vector<std::string> crashed() const;
  // What set_aside() and leave_alone() were told, in this run.
  std::vector<std::string> were_set_aside() const;
  // How the run before ended, if it crashed, and what follows.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // The run ends in order, with nothing in flight. Errors: those of writing.
  Result<void> close();

 private:
  struct PutOff {
    std::string leased;
    std::string asked;
  };
  // What tickets share.
  struct Flight {
    std::unique_ptr<InFlightFile> file;
    std::atomic<std::uint64_t> tickets{0};
    // Whether any URL is suspected or to be set aside: mostly none is, and nothing is looked up.
    bool any = false;
    Mutex mutex;  // guards what changes in the CrashGuard, too
    std::vector<InFlightUrl> survived TRAWL_GUARDED_BY(mutex);
    std::atomic<bool> alone{false};  // a suspect is in flight alone; changes under the lock

    // It was in flight alone, and nothing crashed.
    void end_alone(InFlightUrl suspect);
  };
  struct Begun;

  CrashGuard(const std::filesystem::path& state_dir, CrashHistory history,
             std::vector<std::string> warnings, std::shared_ptr<Flight> flight);
  static std::vector<std::string> warnings_of(const InFlightRecord& run,
                                              const CrashHistory& history);
  Result<void> save() const TRAWL_REQUIRES(flight_->mutex);
  bool is_suspect(std::string_view asked) const TRAWL_REQUIRES(flight_->mutex);

  const std::filesystem::path history_path_;
  const std::vector<std::string> warnings_;
  const std::shared_ptr<Flight> flight_;
  const CrashMark mark_;

  CrashHistory history_ TRAWL_GUARDED_BY(flight_->mutex);
  std::vector<std::string> set_aside_ TRAWL_GUARDED_BY(flight_->mutex);
  std::vector<InFlightUrl> left_alone_ TRAWL_GUARDED_BY(flight_->mutex);
  std::deque<PutOff> put_off_ TRAWL_GUARDED_BY(flight_->mutex);
  // The lease that may be fetched alone.
  std::string alone_ TRAWL_GUARDED_BY(flight_->mutex);
};

}  // namespace trawl
