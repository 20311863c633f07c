// CrashLoopBreaker: ends crash loops. Records which URLs are in flight when a crawl crashes, over
// its runs; URLs that may be the cause are fetched last, one at a time.
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
#include "crawler/crash/crash_signal_recorder.h"
#include "crawler/crash/in_flight_file.h"

namespace trawl {

// What to do with a lease before its request.
enum class CrashVerdict : std::uint8_t {
  kFetch,
  kWait,      // later: a suspect is being fetched alone
  kPutOff,    // the URL is a suspect: fetch it when nothing else is left
  kSetAside,  // the crawl crashed with only this URL in flight
};

// For one crawl, which has its state directory locked. Thread-safe.
class CrashLoopBreaker {
 public:
  // Reasons stored in the frontier: of URLs that were put off, and of URLs set aside.
  static constexpr std::string_view kSuspect = "crash suspect";
  static constexpr std::string_view kCrashed = "crashed";

  // A URL is in flight while a copy of its ticket exists. When the last copy is destroyed, the URL
  // is no longer a suspect in this run. A ticket may outlive the guard.
  using Ticket = std::shared_ptr<const void>;

  // Reads how the last run ended, and begins a run of at most `transfers` concurrent transfers.
  // Damaged files are replaced, with a warning. Errors: kUnsupportedVersion, kNoSpace, kPermission,
  // kIo.
  static Result<std::unique_ptr<CrashLoopBreaker>> open(const std::filesystem::path& state_dir,
                                                        std::uint32_t transfers);
  // The files of this class in a state directory.
  static std::vector<std::filesystem::path> paths(const std::filesystem::path& state_dir);

  // Call before the request; keep the ticket until the result is durable.
  Ticket begin(std::string_view url);
  // `asked`: the URL to request on behalf of the lease of `leased`; the same URL or its robots.txt.
  // `leases`: the number of open leases, including this one.
  CrashVerdict verdict(std::string_view asked, std::string_view leased,
                       const std::atomic<std::uint64_t>& leases);
  // Call after kSetAside, when the URL ends as failed. It is fetched again if the user retries it.
  // Errors: those of writing.
  Result<void> set_aside(std::string_view asked);
  // The same for a robots.txt, whose host is parked: it is not requested again in this run. Returns
  // false if this was called for it before.
  bool leave_alone(std::string_view asked);

  // Call after kPutOff, when the lease's URL is held.
  void put_off(std::string leased, std::string asked);
  struct Next {
    std::vector<std::string> leased;  // queue these again; empty: nothing was put off
    bool alone = false;               // it is one URL, which verdict() will allow
  };
  bool has_put_off() const;
  // Call when no lease is open and nothing else is left to do.
  Next next_put_off();
  // The number of URLs in flight.
  std::uint64_t in_flight() const { return flight_->tickets.load(std::memory_order_relaxed); }
  // A suspect is being fetched: do not lease.
  bool is_alone() const { return flight_->alone.load(std::memory_order_relaxed); }

  // URLs in flight at both of the last two crashes in a row. Long URLs are cut.
  std::vector<std::string> suspects() const;
  // URLs that were alone in flight at a third crash, and are not yet set aside.
  std::vector<std::string> crashed() const;
  // URLs passed to set_aside() and leave_alone() in this run.
  std::vector<std::string> were_set_aside() const;
  // Messages on the last run, if it crashed.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // Ends the run in order, with nothing in flight. Errors: those of writing.
  Result<void> close();

 private:
  struct PutOff {
    std::string leased;
    std::string asked;
  };
  // State shared with the tickets.
  struct Flight {
    std::unique_ptr<InFlightFile> file;
    std::atomic<std::uint64_t> tickets{0};
    // Whether any URL is suspected or to be set aside. If not, which is usual, no look-ups are
    // needed.
    bool any = false;
    Mutex mutex;  // also guards members of CrashLoopBreaker
    std::vector<InFlightUrl> survived TRAWL_GUARDED_BY(mutex);
    std::atomic<bool> alone{false};  // a suspect is in flight alone; see set_alone()

    void set_alone(bool is) TRAWL_REQUIRES(mutex) { alone.store(is, std::memory_order_relaxed); }
    // The suspect was in flight alone, and nothing crashed.
    void end_alone(InFlightUrl suspect);
  };
  struct Begun;

  CrashLoopBreaker(const std::filesystem::path& state_dir, CrashHistory history,
                   std::vector<std::string> warnings, std::shared_ptr<Flight> flight);
  static std::vector<std::string> warnings_of(const InFlightRecord& run,
                                              const CrashHistory& history);
  Result<void> save() const TRAWL_REQUIRES(flight_->mutex);
  bool is_suspect(std::string_view asked) const TRAWL_REQUIRES(flight_->mutex);

  const std::filesystem::path history_path_;
  const std::vector<std::string> warnings_;
  const std::shared_ptr<Flight> flight_;
  const CrashSignalRecorder mark_;

  CrashHistory history_ TRAWL_GUARDED_BY(flight_->mutex);
  std::vector<std::string> set_aside_ TRAWL_GUARDED_BY(flight_->mutex);
  std::vector<InFlightUrl> left_alone_ TRAWL_GUARDED_BY(flight_->mutex);
  std::deque<PutOff> put_off_ TRAWL_GUARDED_BY(flight_->mutex);
  // The URL of the lease that may be fetched alone.
  std::string alone_ TRAWL_GUARDED_BY(flight_->mutex);
};

}  // namespace trawl
