// Reads a frontier that no process has open: its state, its waiting URLs, and those set aside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/frontier.h"
#include "trawl/result.h"

namespace trawl {

// What summarize_frontier() finds.
struct FrontierSummary {
  // From the store and the newest checkpoint; other members are 0. `queued` includes URLs that were
  // leased when the frontier was last open. `hosts` counts hosts with queued URLs; hosts_blocked
  // (at the moment) and hosts_parked also count hosts without.
  FrontierStats stats;
  // stats.filter is of the newest checkpoint that can be opened; without one it is computed from
  // the number of URLs. False: it is unknown.
  bool filter_known = false;
  std::vector<HostInfo> longest_queues;  // the number requested, longest first

  // A snapshot of the filter.
  struct Checkpoint {
    std::string file;
    std::optional<std::uint64_t> sequence;  // admissions before it are in its bits
    std::uint64_t bytes = 0;                // 0: the file is missing
  };
  std::vector<Checkpoint> checkpoints;  // oldest first; not checked for damage
  std::uint64_t store_bytes = 0;
  std::uint64_t disk_bytes = 0;  // all of the frontier's files, the store's included

  // From the MANIFEST; absent if it cannot be read.
  std::optional<std::string> profile;  // Profile::name()
  std::optional<bool> ledger;
  // Problems found, each with what to do.
  std::vector<std::string> warnings;
};

// Where a URL waits.
enum class WaitingState : std::uint8_t {
  kQueued,    // in its host's queue, or leased when the frontier was last open
  kDeferred,  // until not_before
  // Set aside: in no queue, until Frontier::retry() puts it back into one.
  kHeld,    // a rule of the caller excluded it
  kFailed,  // its fetch failed, or could not start
};

// A URL that waits or is set aside. The views are valid only during the call of `visit`.
struct DumpedUrl {
  std::string_view url = {};
  std::string_view host = {};  // as Lease::host
  std::string_view parent = {};
  std::int32_t priority = 0;
  std::uint32_t depth = 0;  // the smallest of its offers, if the MANIFEST can be read
  std::uint32_t redirects = 0;
  std::uint32_t attempts = 0;
  bool recrawl = false;
  std::string_view note = {};
  WaitingState state = WaitingState::kQueued;
  std::optional<SystemTime> not_before = std::nullopt;
  // Of a URL set aside: see SetAsideUrl.
  std::string_view reason = {};
  int status = 0;
  std::optional<SystemTime> since = std::nullopt;
};

// Which URLs dump_frontier() visits.
struct DumpOptions {
  std::string host = {};  // only this one, named as in Lease::host; empty: all
  std::optional<WaitingState> state = std::nullopt;  // only this one; absent: all
};

// Both functions change nothing and need no write permission; while they read, they lock writers
// out if the permissions allow it. They read the store, and at most the header and a sample of the
// filter: they need little memory, no intact checkpoint, and no MANIFEST. Errors: kInUse if a
// process has it open, kNotFound if it holds no frontier, kCorrupt, kUnsupportedVersion, kNoSpace,
// kPermission, kIo.

// `longest_queues` above 0 counts the queues, which reads all of them.
Result<FrontierSummary> summarize_frontier(const std::filesystem::path& directory,
                                           std::size_t longest_queues = 0);

// Calls `visit` with each URL: the queued ones host by host in the order of their leases, then the
// deferred ones by time, then those held and failed in unspecified order. Stops at the first error
// that `visit` returns, and returns it. URLs with damaged records are left out; at the end kCorrupt
// reports their number.
Result<void> dump_frontier(const std::filesystem::path& directory, const DumpOptions& options,
                           const std::function<Result<void>(const DumpedUrl&)>& visit);

}  // namespace trawl
