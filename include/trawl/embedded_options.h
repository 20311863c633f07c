// The options of an EmbeddedFrontier, and the reports of its calls.
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

// Whether the directory may hold a frontier, or must.
enum class OpenMode : std::uint8_t {
  kCreateOrResume,
  kCreate,  // kAlreadyExists if the directory holds a frontier
  kResume,  // kNotFound if it holds none
};

// How reliable a "seen" answer is.
enum class FilterMode : std::uint8_t {
  kBloom,  // the filter decides: a share of new URLs (false_positive_rate) is wrongly called seen
  kExact,  // the ledger confirms each "seen" of the filter: no URL is lost
};

// What a completed call survives.
enum class Durability : std::uint8_t {
  kAsync,  // survives a crash of the process at any instant
  kSync,   // survives power loss too: each commit is synced to the disk
};

// The seen-filter. Most users set `expected_urls` alone.
struct SeenOptions {
  // The number of URLs that the filter's first layer is sized for (GrowingBloomFilter), and the
  // rate of new URLs wrongly called seen, which holds for any number of URLs. About 40 bits a URL
  // for 1e-6. Both are fixed when the directory is created; a resumed frontier keeps them.
  std::uint64_t expected_urls = 1'000'000;
  double false_positive_rate = 1e-6;
  // Bytes that the filter may grow to; 0: half of the machine's memory. At the limit the filter
  // stops growing, its rate rises, and stats() reports it.
  std::uint64_t max_memory = 0;
  FilterMode mode = FilterMode::kBloom;
  // Keeps a record of each admitted URL: status and time of its last fetch. Always on with
  // FilterMode::kExact. Otherwise some of the "seen" answers are checked against it, and stats()
  // reports the measured rate of false ones. Fixed when the directory is created.
  bool ledger = false;
  // The canonicalisation that decides which URLs are the same. Stored with the frontier. open()
  // refuses a different profile with kProfileMismatch, and the message says what differs, unless
  // `replace_profile` is set. Then URLs whose key changes may be admitted once more; URLs set aside
  // get new keys.
  Profile profile = {};
  bool replace_profile = false;
};

// The store, a RocksDB database. Most users leave these alone.
struct StorageOptions {
  // Bytes for queues, caches and buffers of the store; from kMinFrontierMemory to
  // kMaxFrontierMemory. Not included: the filter; the program's code (some 14 MiB); hosts with
  // waiting URLs, which all stay in memory, at about 200 bytes each and 300 more with domain_delay
  // or ip_delay; open leases (max_open_leases), at about 230 bytes each plus the URL's record; and
  // freed memory that the C library's malloc keeps, which with glibc is a lot by default: see
  // docs/frontier.md. stats() reports the memory in use.
  std::uint64_t max_memory = 256u << 20;
  Durability durability = Durability::kAsync;
  // The number of URLs set aside that are kept, some 150 bytes each; held links (UrlRequest::hold)
  // take at most half of it. URLs beyond it are not kept, only counted in
  // FrontierCounters::not_set_aside. URLs with HoldReason::always or Outcome::keep_failed are kept
  // in any case; with 0 only these are.
  std::uint64_t max_set_aside = 10'000'000;
  // Hosts are distributed over this many shards (1 to 1024, at most max_open_leases). Threads that
  // each lease from their own shard do not wait for each other, except when max_open_leases is
  // reached; one shard may use all of it.
  std::uint32_t shards = 1;
};

inline constexpr std::uint64_t kMinFrontierMemory = 64u << 20;
inline constexpr std::uint64_t kMaxFrontierMemory = std::uint64_t{1} << 50;

// The result of a checkpoint that was automatic or requested.
struct CheckpointEvent {
  Result<void> result;
  std::chrono::milliseconds took{0};
  bool written = true;  // false: one was requested, but nothing was admitted since the last
};

// Snapshots of the filter. They decide how long a restart takes: opening replays what was admitted
// since the newest, about 3.5 million URLs a second.
struct CheckpointOptions {
  std::uint32_t keep = 2;  // at least 1
  // A checkpoint is taken automatically, and by close(), when that replay would take longer than
  // this, at the speed that was measured when the frontier was opened, at most 3.5 million. Above
  // 0.
  std::chrono::milliseconds max_replay{30'000};
  // A checkpoint is also taken after this time and after this many admissions; 0 disables either.
  // None is ever taken if nothing was admitted since the last one.
  std::chrono::milliseconds interval{0};
  std::uint64_t admissions = 0;
  // The most bytes a second that a checkpoint writes; 0: no limit. Does not apply while close()
  // waits.
  std::uint64_t max_rate = 0;
  // Called on one of the frontier's threads after each checkpoint that was automatic or requested
  // by request_checkpoint(). Must neither call close() nor throw.
  std::function<void(const CheckpointEvent&)> on_taken = {};
};

// For tests only.
struct TestingOptions {
  // The clock for delays; std::chrono::steady_clock if empty. Must not go back.
  std::function<SteadyTime()> clock = {};
  // The clock for times that outlive the process (retries, recrawls, blocked hosts);
  // std::chrono::system_clock if empty.
  std::function<SystemTime()> wall_clock = {};
  // The keyed hash for fingerprints; a random one if absent. Used when the directory is created.
  std::optional<KeyedHash> hash = std::nullopt;
  // Makes the frontier deterministic: every call returns when its changes are durable, lease
  // numbers count from 1, and random choices are drawn from this seed. With the same clocks and
  // hash the same calls then return the same leases in the same order.
  std::optional<std::uint64_t> deterministic_seed = std::nullopt;
  // Hosts in memory with all that is known of them; others with waiting URLs take some 12 bytes.
  std::size_t most_hosts_awake = std::size_t{1} << 19;
  // New URLs of a call that take as many bytes are written to a file next to the store's log, those
  // that take fewer to the log. The first is less work for the one thread that writes the log.
  std::size_t least_run_in_file = std::size_t{8} << 10;
  // How long open() waits until the hosts of an existing frontier are known; after that it returns,
  // and they become known one after the other.
  std::chrono::milliseconds restore_patience{500};
  // Commits the end of a page in a batch of its own, when its links are durable, as a frontier
  // does whose store is on several machines.
  bool ends_follow_links = false;
  // Called on the commit thread before each group of changes is written. An error stops the
  // frontier like a failed write.
  std::function<Result<void>()> before_commit = {};
};

// How EmbeddedFrontier::open() opens a directory.
struct EmbeddedOptions {
  std::filesystem::path directory;  // created if missing, its parents too
  OpenMode mode = OpenMode::kCreateOrResume;
  // Revives the hosts that are parked.
  bool revive_hosts = false;

  PolitenessOptions politeness = {};
  RetryOptions retry = {};
  LimitOptions limits = {};
  SeenOptions seen = {};
  StorageOptions store = {};
  CheckpointOptions checkpoints = {};
  TestingOptions testing = {};
};

// What open() found in the directory.
struct OpenReport {
  bool resumed = false;
  std::string checkpoint;             // the file that the filter was restored from; empty: none
  std::uint64_t replayed = 0;         // fingerprints replayed from the admission log
  std::uint64_t hosts_revived = 0;    // EmbeddedOptions::revive_hosts
  std::vector<std::string> warnings;  // e.g. a damaged checkpoint that an older one replaced
};

// What EmbeddedFrontier::look_at() found in a directory.
struct FrontierDirectory {
  // There is a MANIFEST, intact or not: open() resumes the frontier or returns the reason why not.
  bool resumable = false;
  // The directory holds a frontier's MANIFEST, or one that remove() has renamed as its first step.
  bool holds_one = false;
  // The directory holds a frontier's store. Without a MANIFEST, creation of the frontier was
  // interrupted or the MANIFEST was lost.
  bool has_remains = false;
  // SeenOptions::ledger, if the MANIFEST can be read.
  std::optional<bool> ledger;
  // The directory's entries that certainly belong to a frontier, even without a MANIFEST.
  std::vector<std::string> names;
  // The frontier's files, for people: "MANIFEST, 2 checkpoints, store".
  std::string description;
};

// The result of EmbeddedFrontier::revive().
struct ReviveReport {
  std::uint64_t revived = 0;
  std::vector<std::string> hosts;       // the first 1,000 revived
  std::vector<std::string> not_parked;  // named hosts that are known, but were not parked
  std::vector<std::string> unknown;     // named hosts without waiting URLs or settings
};

// The result of EmbeddedFrontier::repair().
struct RepairReport {
  bool repaired = false;           // false: no repair was needed
  std::uint64_t known = 0;         // URLs in the new filter
  std::uint64_t forgotten = 0;     // admitted URLs that it lacks; they may be fetched again
  std::vector<std::string> notes;  // what was damaged, which sources were used, what is lost
};

}  // namespace trawl
