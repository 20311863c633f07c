// Frontier: URLs in, leases out; each URL once, none lost.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/canonicalizer.h"
#include "trawl/filter.h"
#include "trawl/fingerprint.h"
#include "trawl/result.h"

namespace trawl {

using SteadyTime = std::chrono::steady_clock::time_point;

// Longer delays than a year are refused.
inline constexpr std::chrono::milliseconds kMaxDelay = std::chrono::hours(365 * 24);

// A URL offered to the frontier. The views need to live only as long as the call.
struct UrlRequest {
  std::string_view url;          // absolute, http or https; a fragment is dropped
  std::int32_t priority = 0;     // higher ones of a host are leased first
  std::uint32_t depth = 0;       // links followed from a seed; stored, not interpreted
  std::uint32_t redirects = 0;   // redirects in a row that led here; stored, not interpreted
  std::string_view parent = {};  // where it was found; for complete() the lease's URL if empty
};

// What became of a UrlRequest.
enum class Admission : std::uint8_t {
  kNew,      // admitted: queued, and durable when offer() returns
  kSeen,     // was admitted before (or, with the false-positive rate, wrongly taken for seen)
  kInvalid,  // not an absolute http(s) URL
  kTooLong,  // longer than FrontierOptions::max_url_length
};

// A URL handed out for fetching. Stays open, and its URL durable, until complete() or release().
struct Lease {
  std::uint64_t id = 0;  // never given twice; after a restart the URL is leased anew
  std::string url;
  std::string host;  // its host queue: host name, then ":port" if it is not the default
  std::string parent;
  std::int32_t priority = 0;
  std::uint32_t depth = 0;
  std::uint32_t redirects = 0;
};

// How fetching a lease's URL ended.
struct Outcome {
  int status = 0;          // HTTP status; 0 if there was no response
  std::string error = {};  // empty unless the fetch failed
  // False if no request was made after all (robots.txt forbids it, say): the completion counts as
  // skipped, and the host need not wait for it.
  bool requested = true;
  // How long after lease() the request really started; the host's delay counts from there.
  std::chrono::milliseconds started_after{0};
  // Anything of the caller's: handed to before_commit untouched.
  std::shared_ptr<const void> context = nullptr;
};

// A completion about to become durable.
struct Completion {
  const Lease& lease;
  const Outcome& outcome;
  std::size_t links;      // offered with it
  std::size_t new_links;  // of these, admitted
};

enum class FrontierDurability {
  kAsync,  // survives the death of the process at any instant
  kSync,   // survives power loss too: each commit is synced to the disk
};

enum class OpenMode {
  kCreateOrResume,
  kCreate,  // kAlreadyExists if the directory holds a crawl
  kResume,  // kNotFound if it holds none
};

struct FrontierOptions {
  std::filesystem::path directory;  // created if missing, its parents too
  OpenMode mode = OpenMode::kCreateOrResume;

  // The seen-filter (GrowingBloomFilter): how many URLs its first layer is sized for, and the rate
  // of new URLs wrongly taken for seen that it keeps however many come. Fixed when the directory is
  // created; resuming keeps what was chosen then. About 40 bits a URL for 1e-6.
  std::uint64_t expected_urls = 1'000'000;
  double false_positive_rate = 1e-6;
  // Bytes that the filter may grow to; 0: half of the machine's memory. Where it may not grow, the
  // rate rises, and stats() says so.
  std::uint64_t max_filter_memory = 0;

  // Between the starts of two requests to a host; from 0 to kMaxDelay.
  std::chrono::milliseconds delay{1000};
  std::uint32_t leases_per_host = 1;  // open at the same time; >= 1
  // Leases open at the same time over all hosts, those whose completion is not yet durable
  // included; at least `shards`. So many URLs at most are leased twice because of a crash.
  std::uint32_t max_open_leases = 1'000'000;
  std::uint32_t max_url_length = 2083;  // bytes
  // Hosts are spread over this many shards (1 to 1024). Threads that lease from a shard of their
  // own never wait for each other.
  std::uint32_t shards = 1;
  FrontierDurability durability = FrontierDurability::kAsync;
  std::uint32_t checkpoints_kept = 2;  // >= 1

  // The canonicalisation that decides which URLs are the same. Stored; resuming with another is
  // refused, with what differs, unless it may replace the stored one: URLs whose key changes are
  // then not known to have been seen, and may be admitted once more.
  Profile profile = {};
  bool replace_profile = false;
  // The key of the fingerprints; random if absent. Used when the directory is created.
  std::optional<KeyedHash> hash = std::nullopt;
  // The clock that delays are measured by; std::chrono::steady_clock if empty. Must not go back.
  std::function<SteadyTime()> clock = {};

  // Called on the frontier's commit thread with completions just before they become durable, so
  // that what the caller writes about a page is on disk before the page counts as done; a crash
  // in between repeats the page. An error stops the frontier (see Frontier). Must neither call the
  // frontier nor throw.
  std::function<Result<void>(std::span<const Completion>)> before_commit = {};
  // Called when a shard got new URLs, room for leases, or a URL back: a hint to call lease(). Runs
  // on the commit thread, or in release() and set_host_delay(). Must not block, call the frontier,
  // or throw.
  std::function<void(std::uint32_t shard)> on_work = {};
};

struct FrontierStats {
  std::uint64_t admitted = 0;     // URLs ever told new
  std::uint64_t completed = 0;    // of these, done; includes the failed
  std::uint64_t failed = 0;       // completed with an error
  std::uint64_t skipped = 0;      // completed without a request
  std::uint64_t seen = 0;         // offers told seen
  std::uint64_t invalid = 0;      // offers told invalid or too long
  std::uint64_t queued = 0;       // admitted, neither leased nor completed
  std::uint64_t leased = 0;       // open leases, those whose completion is not yet durable included
  std::uint64_t hosts = 0;        // host queues in memory
  std::uint64_t checkpoints = 0;  // published by this process
  double false_positive_rate = 0;  // of the filter, now
  double expected_lost = 0;        // expected number of new URLs wrongly taken for seen so far
  FilterStats filter = {};
  std::string filter_warning;  // why the filter could not grow; empty: it could, or need not
};

// How open() found the directory.
struct OpenReport {
  bool resumed = false;
  std::string checkpoint;             // the file restored from; empty: none
  std::uint64_t replayed = 0;         // fingerprints replayed from the admission log
  std::vector<std::string> warnings;  // e.g. a damaged checkpoint that an older one replaced
};

// A durable queue of URLs that admits each URL once, keeps a delay between requests to a host,
// and survives kill -9: every admitted URL is leased, again and again after crashes, until it is
// completed; at most the URLs whose leases were open at a crash are leased twice.
//
// All calls are thread-safe. If the store cannot be written or read (disk full, I/O error) the
// frontier stops: that call and all later ones that would change anything return the error; the
// state on disk is intact, and opening it again goes on from there. A checkpoint that cannot be
// written is an error of that call alone.
class Frontier {
 public:
  // Opens or creates a frontier. Errors: kInvalidArgument, kInUse (another process has it open),
  // kAlreadyExists, kNotFound, kCorrupt, kUnsupportedVersion, kNoSpace, kPermission, kIo.
  static Result<std::unique_ptr<Frontier>> open(const FrontierOptions& options);

  // Deletes the frontier in `directory`, its own files only; none there is no error. Errors:
  // kInUse, kPermission, kIo.
  static Result<void> remove(const std::filesystem::path& directory);

  // Ends without a checkpoint what close() did not end. Everything committed stays durable.
  virtual ~Frontier() = default;

  // Admits the URLs that are new. What it answered is durable when it returns.
  virtual Result<std::vector<Admission>> offer(std::span<const UrlRequest> requests) = 0;

  // Up to `max` URLs whose hosts may be asked now, at most leases_per_host a host; none if nothing
  // is due. The caller starts each request at once. The second form asks one shard only.
  virtual Result<std::vector<Lease>> lease(std::size_t max) = 0;
  virtual Result<std::vector<Lease>> lease(std::size_t max, std::uint32_t shard) = 0;
  // When lease() may next have something, as far as is known, perhaps a time that has passed;
  // nothing while all is waiting for completions or offers, or if there is no such shard.
  virtual std::optional<SteadyTime> next_due(std::uint32_t shard) const = 0;

  // Ends a lease and admits the links found: both become durable together, shortly after the
  // return (flush() waits for it). Returns what became of each link. Errors: kNotFound if the
  // lease is not open.
  virtual Result<std::vector<Admission>> complete(std::uint64_t lease_id, const Outcome& outcome,
                                                  std::span<const UrlRequest> links) = 0;
  // Gives a lease back unfetched: its URL is leased again later. With `next_start` the host waits
  // until then, and at least its delay from `started_after` the lease, which is when it was asked
  // for something else instead (robots.txt, say); without, as if the lease had not been given.
  // Errors: kNotFound.
  virtual Result<void> release(
      std::uint64_t lease_id, std::optional<SteadyTime> next_start = std::nullopt,
      std::chrono::milliseconds started_after = std::chrono::milliseconds(0)) = 0;

  // Sets a host's own delay (its robots.txt may ask for one); durable. The longer of it and
  // FrontierOptions::delay holds. `host` as in Lease::host.
  virtual Result<void> set_host_delay(std::string_view host, std::chrono::milliseconds delay) = 0;

  // Returns when everything completed or offered before is durable.
  virtual Result<void> flush() = 0;
  // Publishes a checkpoint of the filter while other threads go on; a restart then replays only
  // what was admitted since. One at a time; a second call waits for the first.
  virtual Result<void> checkpoint() = 0;

  // True if every admitted URL is completed, durably.
  virtual bool finished() const = 0;
  virtual FrontierStats stats() const = 0;
  virtual const OpenReport& opened() const = 0;

  // Flushes, publishes a checkpoint and closes the directory. What other threads are told at the
  // same time holds; later calls return kClosed.
  virtual Result<void> close() = 0;
};

}  // namespace trawl
