// Looking into a frontier that nobody has open: how it stands, the URLs that wait, and those that
// are set aside.
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

struct FrontierSummary {
  // What the store and the newest checkpoint tell, the rest 0: `queued` has those leased when it
  // was last open; `hosts` are those with URLs in their queues; hosts_blocked (now) and
  // hosts_parked count whether anything waits for them or not.
  FrontierStats stats;
  bool filter_read = false;  // stats.filter is of the newest checkpoint that can be opened
  std::vector<HostInfo> longest_queues;  // as many as were asked for, longest first

  struct Checkpoint {
    std::string file;
    std::optional<std::uint64_t> sequence;  // admissions before it are in its bits
    std::uint64_t bytes = 0;                // 0: the file is missing
  };
  std::vector<Checkpoint> checkpoints;  // oldest first; whether they are intact is not looked at
  std::uint64_t store_bytes = 0;
  std::uint64_t disk_bytes = 0;  // all of the frontier's files, the store's included

  // Of the MANIFEST; absent if that cannot be read.
  std::optional<std::string> profile;  // Profile::name()
  std::optional<bool> ledger;
  // What is wrong with it as far as it was looked at, each with what to do.
  std::vector<std::string> warnings;
};

enum class WaitingState : std::uint8_t {
  kQueued,    // in its host's queue, or leased when the frontier was last open
  kDeferred,  // until not_before
  // Set aside: in no queue, until Frontier::retry() puts it back into one.
  kHeld,    // a rule of the caller's passed it over
  kFailed,  // it was asked for in vain, or could not be
};

// A URL that waits, or is set aside. The views are good for the call they are given to.
struct DumpedUrl {
  std::string_view url = {};
  std::string_view host = {};  // as Lease::host
  std::string_view parent = {};
  std::int32_t priority = 0;
  std::uint32_t depth = 0;  // the smallest it was offered with, if the MANIFEST can be read
  std::uint32_t redirects = 0;
  std::uint32_t attempts = 0;
  bool recrawl = false;
  std::string_view note = {};
  WaitingState state = WaitingState::kQueued;
  std::optional<SystemTime> not_before = std::nullopt;
  // Of one that is set aside: as SetAsideUrl has them.
  std::string_view reason = {};
  int status = 0;
  std::optional<SystemTime> since = std::nullopt;
};

struct DumpOptions {
  std::string host = {};  // of this one alone, named as in Lease::host; empty: of all
  std::optional<WaitingState> state = std::nullopt;  // in this one alone; nothing: in all
};

// Both keep writers out as long as they read, where that is possible, and change nothing: they need
// no right to write. They read the store, and of the filter a header and a sample at most, so that
// they need little memory, no intact checkpoint, and not even a MANIFEST. Errors: kInUse if a
// process has it open, kNotFound if it holds no frontier, kCorrupt, kUnsupportedVersion, kNoSpace,
// kPermission, kIo.

// With `longest_queues` the queues are counted, which reads all of them.
Result<FrontierSummary> summarize_frontier(const std::filesystem::path& directory,
                                           std::size_t longest_queues = 0);

// Calls `visit` with each URL that waits: those queued, host by host in the order they would be
// leased, then those deferred by time; then with those held and failed, in an order of no meaning.
// Ends at the first error it returns, and returns that. URLs whose records are damaged are left
// out, and their number told by kCorrupt at the end.
Result<void> dump_frontier(const std::filesystem::path& directory, const DumpOptions& options,
                           const std::function<Result<void>(const DumpedUrl&)>& visit);

}  // namespace trawl
