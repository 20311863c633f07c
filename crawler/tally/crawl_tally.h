// CrawlTally: what a crawl did, in numbers that add up to the lines of pages.jsonl.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trawl/clocks.h"

#include "base/mutex.h"

namespace trawl {

// What the tally takes from a line of pages.jsonl. The views are valid during the call.
struct TalliedPage {
  std::string_view url;
  std::string_view host;  // as Lease::host
  int status = 0;
  std::string_view error;   // empty: null
  std::string_view reason;  // empty: null
  std::uint64_t bytes = 0;
  std::chrono::milliseconds elapsed{0};
  SystemTime fetched_at{};
  bool redirect = false;
  bool duplicate = false;
  bool truncated = false;
  bool recrawl = false;
};

// The fetches that failed for one reason.
struct FailureTally {
  std::string reason;  // as in pages.jsonl, or "HTTP 404"
  std::uint64_t count = 0;
  std::string url;  // of the first of them
  std::string error;
  friend bool operator==(const FailureTally&, const FailureTally&) = default;
};

// Numbers of fetches by duration. `counts[i]` are those of at most kBounds[i], and longer than the
// bound before; the last are longer than all bounds.
struct FetchTimes {
  static constexpr std::array<std::uint32_t, 13> kBounds = {
      5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10'000, 30'000, 60'000};  // milliseconds
  std::array<std::uint64_t, kBounds.size() + 1> counts{};
  std::uint64_t sum_ms = 0;
  void add(std::chrono::milliseconds time);
  friend bool operator==(const FetchTimes&, const FetchTimes&) = default;
};

struct TallyTotals {
  std::uint64_t lines = 0;
  // By the first digit of the status; [0] counts fetches without a response.
  std::array<std::uint64_t, 6> by_class{};
  std::array<std::uint64_t, 6> bytes_by_class{};  // of bodies, decompressed
  std::map<int, std::uint64_t> by_status;         // without 0
  std::uint64_t redirects = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t truncated = 0;
  std::uint64_t recrawls = 0;
  std::uint64_t failed = 0;                      // lines with an error, or a status of 400 or above
  std::map<std::string, FailureTally> failures;  // these by reason
  FetchTimes times;

  std::uint64_t bytes() const;
  void add(const TalliedPage& page);
  friend bool operator==(const TallyTotals&, const TallyTotals&) = default;
};

struct HostTally {
  std::string host;
  std::uint64_t fetched = 0;
  std::array<std::uint64_t, 6> by_class{};
  std::uint64_t bytes = 0;
  std::uint64_t failed = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t elapsed_ms = 0;  // sum
  std::uint32_t longest_ms = 0;
  // Between the starts of two requests in one run, robots.txt included; absent: not two yet.
  std::optional<std::chrono::milliseconds> smallest_gap;
  std::string last_error;
  SystemTime last_fetch{};

  std::uint64_t mean_ms() const { return fetched == 0 ? 0 : elapsed_ms / fetched; }
  void add(const TalliedPage& page);
  friend bool operator==(const HostTally&, const HostTally&) = default;
};

// A fetch that failed.
struct RecentError {
  SystemTime time{};
  std::string url;
  int status = 0;
  std::string reason;
  std::string error;
  friend bool operator==(const RecentError&, const RecentError&) = default;
};

enum class TallyOrder : std::uint8_t { kFetched, kFailed, kBytes, kSlowest };

// All that is kept of the fetches of a crawl, over all its runs.
struct TallySnapshot {
  TallyTotals totals;
  std::vector<HostTally> hosts;  // the hosts with the most fetches
  HostTally other_hosts;         // the sum of those that are not in `hosts`
  std::vector<RecentError> errors;
  // The bytes of pages.jsonl whose lines are counted.
  std::uint64_t offset = 0;
};

// Bounded memory: at most kMaxHosts hosts and kMaxReasons reasons are kept apart. Thread-safe.
class CrawlTally {
 public:
  static constexpr std::size_t kMaxHosts = 10'000;
  static constexpr std::size_t kMaxReasons = 200;
  static constexpr std::size_t kMaxErrors = 100;

  CrawlTally() = default;
  // Continues an earlier run.
  explicit CrawlTally(TallySnapshot before);

  void add(const TalliedPage& page);
  // A request to the host was sent.
  void note_start(std::string_view host, std::chrono::steady_clock::time_point sent);

  TallyTotals totals() const;  // over all runs
  TallyTotals of_this_run() const;
  std::vector<HostTally> top_hosts(TallyOrder order, std::size_t limit) const;
  std::optional<HostTally> host(std::string_view name) const;
  std::vector<RecentError> recent_errors(std::size_t limit) const;  // the newest first
  // Number of errors ever added to recent_errors(): to see whether there are new ones.
  std::uint64_t error_count() const;
  TallySnapshot snapshot() const;  // without the offset

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>()(text);
    }
  };
  struct Entry {
    HostTally tally;
    std::optional<std::chrono::steady_clock::time_point> last_start;
  };
  using Hosts = std::unordered_map<std::string, Entry, Hash, std::equal_to<>>;

  Entry& entry_of(std::string_view host) TRAWL_REQUIRES(mutex_);
  void forget_small_hosts() TRAWL_REQUIRES(mutex_);

  mutable Mutex mutex_;
  TallyTotals all_ TRAWL_GUARDED_BY(mutex_);
  TallyTotals run_ TRAWL_GUARDED_BY(mutex_);
  Hosts hosts_ TRAWL_GUARDED_BY(mutex_);
  HostTally other_hosts_ TRAWL_GUARDED_BY(mutex_);
  std::deque<RecentError> errors_ TRAWL_GUARDED_BY(mutex_);  // the newest last
  std::uint64_t error_count_ TRAWL_GUARDED_BY(mutex_) = 0;
};

// Sorts hosts, the first in `order` first, and keeps `limit` of them.
void sort_hosts(std::vector<HostTally>& hosts, TallyOrder order, std::size_t limit);

}  // namespace trawl
