// What an EmbeddedFrontier is opened with, and what its calls report.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trawl/canonical_profile.h"
#include "trawl/clocks.h"
#include "trawl/fingerprint.h"
#include "trawl/frontier_options.h"
#include "trawl/result.h"

namespace trawl {

enum class OpenMode : std::uint8_t {
  kCreateOrResume,
  kCreate,  // kAlreadyExists if the directory holds a frontier
  kResume,  // kNotFound if it holds none
};

// How sure a "seen" is.
enum class FilterMode : std::uint8_t {
  kBloom,  // the filter decides: a share of new URLs (false_positive_rate) is taken for seen
  kExact,  // a "seen" of the filter is checked against the ledger: no URL is lost
};

enum class Durability : std::uint8_t {
  kAsync,  // survives the death of the process at any instant
  kSync,   // survives power loss too: each commit is synced to the disk
};

// The seen-filter. Most users set `expected_urls` alone.
struct SeenOptions {
  // How many URLs the filter's first layer is sized for (GrowingBloomFilter), and the rate of new
  // URLs wrongly taken for seen that it keeps however many come. Fixed when the directory is
  // created; resuming keeps what was chosen then. About 40 bits a URL for 1e-6.
  std::uint64_t expected_urls = 1'000'000;
  double false_positive_rate = 1e-6;
  // Bytes that the filter may grow to; 0: half of the machine's memory. Where it may not grow, the
  // rate rises, and stats() says so.
  std::uint64_t max_memory = 0;
  FilterMode mode = FilterMode::kBloom;
  // Keeps a record of each URL admitted: status and time of its last fetch. Always on with
  // FilterMode::kExact. Without that, some of the "seen" answers are checked against it, and
  // stats() tells the rate of false ones that was measured. Fixed when the directory is created.
  bool ledger = false;
  // The canonicalisation that decides which URLs are the same. Stored; resuming with another is
  // refused, with what differs, unless it may replace the stored one: URLs whose key changes are
  // then not known to have been seen, and may be admitted once more; those set aside get new keys.
  Profile profile = {};
  bool replace_profile = false;
};

// The store, a RocksDB database. Most users leave these alone.
struct StorageOptions {
  // Bytes for queues, caches and buffers of the store; at least kMinFrontierMemory. Not bounded by
  // it, and to be added to know what a process takes: the filter; the program's code (some 14 MiB);
  // hosts with URLs that wait, which are all kept, at about 200 bytes each, and 300 more with
  // domain_delay or ip_delay; open leases, at about 230 bytes each and the URL's record
  // (max_open_leases); and what the C library's malloc keeps of freed memory. glibc's keeps a lot
  // unless told not to: see docs/frontier.md. stats() tells what is in use.
  std::uint64_t max_memory = 256u << 20;
  Durability durability = Durability::kAsync;
  // URLs set aside that are kept, some 150 bytes each; links (UrlRequest::hold) take half of that
  // at most. What finds no room is counted in FrontierCounters::not_set_aside: it ends without a
  // trace. 0: none are kept except those that HoldReason::always and Outcome::keep_failed name,
  // which are kept beyond it.
  std::uint64_t max_set_aside = 10'000'000;
  // Hosts are spread over this many shards (1 to 1024, and not more than max_open_leases). Threads
  // that lease from a shard of their own do not wait for each other, except when max_open_leases is
  // used up; one shard may use all of it.
  std::uint32_t shards = 1;
};

inline constexpr std::uint64_t kMinFrontierMemory = 64u << 20;

// A checkpoint that the frontier took automatically, or could not.
struct CheckpointEvent {
  Result<void> result;
  std::chrono::milliseconds took;
};

// Snapshots of the filter: how long a restart takes.
struct CheckpointOptions {
  std::uint32_t keep = 2;  // at least 1
  // They are taken automatically after so long, and after so many admissions; 0 disables either. A
  // time in which nothing was admitted needs none.
  std::chrono::milliseconds interval{0};
  std::uint64_t admissions = 0;
  // Bytes a second that one writes at most; 0: as fast as the disk takes them. The one that close()
  // takes is not held up by it.
  std::uint64_t max_rate = 0;
  // Called on a thread of the frontier's after each checkpoint that it took automatically or on
  // request_checkpoint(). Must neither call close() nor throw.
  std::function<void(const CheckpointEvent&)> on_taken = {};
};

// For tests. All others leave these alone.
struct TestingOptions {
  // The clock that delays are measured by; std::chrono::steady_clock if empty. Must not go back.
  std::function<SteadyTime()> clock = {};
  // The clock of times that outlive the process (retries, recrawls, blocked hosts);
  // std::chrono::system_clock if empty.
  std::function<SystemTime()> wall_clock = {};
  // The key of the fingerprints; random if absent. Used when the directory is created.
  std::optional<KeyedHash> hash = std::nullopt;
  // Makes the frontier a function of its calls: every call returns when what it changed is durable,
  // lease numbers count from 1, and what is random is drawn from this seed. With clocks and a hash
  // of the caller's, the same calls then give the same leases in the same order.
  std::optional<std::uint64_t> deterministic_seed = std::nullopt;
  // Called on the commit thread before each group of changes is written. An error stops the
  // frontier, as if the write had failed.
  std::function<Result<void>()> before_commit = {};
};

struct EmbeddedOptions {
  std::filesystem::path directory;  // created if missing, its parents too
  OpenMode mode = OpenMode::kCreateOrResume;
  // Hosts that were parked before are revived.
  bool revive_hosts = false;

  PolitenessOptions politeness = {};
  RetryOptions retry = {};
  LimitOptions limits = {};
  SeenOptions seen = {};
  StorageOptions store = {};
  CheckpointOptions checkpoints = {};
  TestingOptions testing = {};
};

// How open() found the directory.
struct OpenReport {
  bool resumed = false;
  std::string checkpoint;             // the file restored from; empty: none
  std::uint64_t replayed = 0;         // fingerprints replayed from the admission log
  std::uint64_t hosts_revived = 0;    // EmbeddedOptions::revive_hosts
  std::vector<std::string> warnings;  // e.g. a damaged checkpoint that an older one replaced
};

// What a directory holds of a frontier.
struct FrontierDirectory {
  // It has a MANIFEST, whatever may be wrong with it: open() resumes it, or says why not.
  bool resumable = false;
  // That file, or what remove() makes of it before anything else is removed, is a frontier's.
  bool holds_one = false;
  // There is a store that is a frontier's, whether or not a MANIFEST is with it: without, one was
  // begun and not finished, or has lost it.
  bool has_remains = false;
  // Of a frontier whose MANIFEST can be read: SeenOptions::ledger.
  std::optional<bool> ledger;
  // Its entries that are a frontier's beyond doubt even without a MANIFEST.
  std::vector<std::string> names;
  // What of a frontier is in it, for people: "MANIFEST, 2 checkpoints, store".
  std::string description;
};

// What revive() did.
struct ReviveReport {
  std::uint64_t revived = 0;
  std::vector<std::string> hosts;       // those revived, the first 1,000 of them
  std::vector<std::string> not_parked;  // of those named; known, but there was nothing to do
  std::vector<std::string> unknown;     // of those named: no URL waits, and nothing is kept
};

// What repair() did.
struct RepairReport {
  bool repaired = false;           // false: it opens as it is
  std::uint64_t known = 0;         // URLs in the new filter
  std::uint64_t forgotten = 0;     // URLs admitted before that it lacks; they may be fetched again
  std::vector<std::string> notes;  // what was damaged, what was used, what can no longer be known
};

}  // namespace trawl
