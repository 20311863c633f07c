// HostTroubles: the hosts that fail now, and a line in the log when one begins to.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trawl/clocks.h"

#include "base/mutex.h"

namespace trawl {

struct HostTrouble {
  std::string host = {};
  std::string why = {};        // the newest failure, in a few words: "connection refused"
  std::uint32_t failures = 0;  // in a row, in this run
  bool parked = false;
  std::optional<SystemTime> until = {};  // of the next try; absent: none in this run
};

// Logs when a host begins to fail, is parked, and answers again: at most kLinesAMinute lines a
// minute, then a count. A host that fails from time to time gets one line in kQuietTime. Of more
// than kMostHosts hosts that fail at the same time the others are not known. Thread-safe.
class HostTroubles {
 public:
  static constexpr std::size_t kMostHosts = 10'000;
  static constexpr std::uint32_t kLinesAMinute = 10;
  static constexpr std::chrono::minutes kQuietTime{5};
  using Clock = std::chrono::steady_clock;
  // Takes what is logged.
  using Log = std::function<void(const std::string& line)>;

  explicit HostTroubles(Log log) : log_(std::move(log)) {}

  // No request to the host is sent before `until`; absent: none in this run, for a parked host.
  // `why`: as HostTrouble::why. `details`: about this failure, for the log.
  void failed(const std::string& host, std::string_view why, std::string_view details,
              std::optional<SystemTime> until, bool parked);
  // The host sent a good answer. Costs next to nothing while no host fails.
  void answered(const std::string& host) {
    // relaxed: a failure that another thread notes at this moment may as well come later.
    if (failing_.load(std::memory_order_relaxed) > 0) recovered(host);
  }
  // Logs how many lines were left out in the last minute. Call from time to time.
  void log_left_out();

  std::size_t count() const { return failing_.load(std::memory_order_relaxed); }
  // Nothing if the host does not fail.
  std::optional<HostTrouble> of(const std::string& host) const;
  // Those that are tried again first come first, those that are not come last.
  std::vector<HostTrouble> first(std::size_t limit) const;

 private:
  struct Entry {
    HostTrouble trouble;  // no failures: it answers again
    std::optional<Clock::time_point> logged = {};
  };

  void recovered(const std::string& host);
  Entry* entry_of(const std::string& host) TRAWL_REQUIRES(mutex_);
  bool may_log(Clock::time_point now) TRAWL_REQUIRES(mutex_);

  const Log log_;
  mutable Mutex mutex_;
  std::unordered_map<std::string, Entry> hosts_ TRAWL_GUARDED_BY(mutex_);
  std::size_t failing_hosts_ TRAWL_GUARDED_BY(mutex_) = 0;
  Clock::time_point minute_ TRAWL_GUARDED_BY(mutex_){};
  std::uint32_t lines_ TRAWL_GUARDED_BY(mutex_) = 0;     // in this minute
  std::uint64_t left_out_ TRAWL_GUARDED_BY(mutex_) = 0;  // in this minute
  std::atomic<std::size_t> failing_{0};
};

}  // namespace trawl
