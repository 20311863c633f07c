// Crawl: owns a crawl's frontier, fetcher threads, output and checkpoints.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trawl/embedded_frontier.h"
#include "trawl/result.h"
#include "trawl/shared_frontier.h"

#include "crawler/config/crawl_config.h"
#include "crawler/decide/crawl_limits.h"
#include "crawler/decide/seed_redirects.h"
#include "crawler/decide/url_verdict.h"
#include "crawler/output/built_in_sinks.h"
#include "crawler/run/crawl_control.h"
#include "crawler/run/failed_seeds.h"
#include "crawler/run/fetch_counts.h"
#include "crawler/run/host_troubles.h"
#include "crawler/tally/crawl_history.h"
#include "crawler/tally/crawl_tally.h"

namespace trawl {

struct CrawlRules;

struct CrawlProgress {
  FrontierStats frontier;
  // Of the whole crawl; `frontier` has the part of this crawler, if several share the crawl.
  FrontierCounters crawl;
  std::uint64_t fetched = 0;      // finished fetches since the crawl began, by this crawler
  std::uint64_t fetched_now = 0;  // by this process
  // URLs that ended with a part of the body, since the crawl began; not included in `fetched`.
  std::uint64_t truncated = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t bodies_memory = 0;                // bytes: see fetch.max_memory
  std::chrono::steady_clock::duration elapsed{};  // since start()
  // When the next request may start, as far as is known; absent: nothing waits for a time.
  std::optional<SteadyTime> next_start;
  // What is left of scope.max_pages, max_bytes and max_time; absent: no limit.
  std::optional<std::uint64_t> pages_left;
  std::optional<std::uint64_t> bytes_left;
  std::optional<std::chrono::steady_clock::duration> time_left;
};

// Why a crawl ended; the first value that applies.
enum class EndReason : std::uint8_t {
  kStopped,       // interrupted, or an error
  kFinished,      // every URL is done
  kLimit,         // reached_limit()
  kRecrawlsWait,  // only recrawls are left, which are due later
  kExhausted,     // the URLs left belong to hosts that are parked or at their limit
};

// How to open a crawl, in addition to its config.
struct CrawlOpening {
  OpenMode mode = OpenMode::kCreateOrResume;
  bool replace_profile = false;        // SeenOptions::replace_profile
  const CrawlConfig* saved = nullptr;  // stored for later runs; null: the config itself
  // Opens the frontier, which must have StorageOptions::shards shards.
  std::function<Result<std::unique_ptr<Frontier>>(const EmbeddedOptions&, OpenReport*)> frontier =
      EmbeddedFrontier::open;
  // The same for a config with [cluster].
  std::function<Result<std::unique_ptr<SharedFrontier>>(const SharedOptions&, OpenReport*)>
      shared_frontier = SharedFrontier::open;
  // Of these the config chooses; see SinkKind.
  std::span<const SinkKind> sinks = built_in_sinks();
  // Reads the config again, for Crawl::reload(). Empty: reload() without a config is refused.
  std::function<Result<ReadConfig>()> reread = {};
  // Applies changed log settings; null: they need a restart. Must be thread-safe.
  std::function<Result<void>(const CrawlConfig::Log&)> set_log = {};
};

class Crawl {
 public:
  // Opens the state directory and offers the seeds; fetches nothing yet. Errors: those of
  // CrawlOpening::frontier and shared_frontier, and those of the output's files; kInvalidArgument
  // if the directory is that of a crawl with its frontier elsewhere: see check_frontier_place().
  static Result<std::unique_ptr<Crawl>> open(const CrawlConfig& config,
                                             const CrawlOpening& opening);
  virtual ~Crawl() = default;

  // Before start(): durably queues all failed URLs again. Returns how many; not those that other
  // crawlers are asked to queue.
  virtual Result<std::uint64_t> retry_failed() = 0;
  virtual void start() = 0;
  // True when nothing is left to do: all URLs are fetched, a limit is reached, draining is done, or
  // an error stopped the crawl. Call often, from one thread: this call also queues work that was
  // put off until nothing else was left.
  virtual bool ended() = 0;
  // Call before start(). `callback`, not empty, is called when ended() has probably become true: on
  // threads of the crawl, which it must not hold up, more than once, and until close() returns or
  // the crawl is destroyed. A hint: not every end is announced.
  virtual void on_end(std::function<void()> callback) = 0;
  virtual void drain() = 0;  // finish the requests in flight, start none
  virtual void abort() = 0;  // drop the requests in flight
  virtual void request_checkpoint() = 0;

  // Valid once ended() is true.
  virtual EndReason why_ended() const = 0;

  // Call after ended() or abort(). Ends the threads, publishes a checkpoint and closes the state.
  // Returns the error that stopped the crawl, if any.
  virtual Result<void> close() = 0;

  virtual CrawlProgress progress() const = 0;
  virtual const SkipCounts& skipped() const = 0;  // by this process
  // URLs skipped since the crawl began, by reason. A crash may lose those of the last minute.
  virtual std::map<std::string, std::uint64_t> skipped_in_all() const = 0;
  // What was fetched, over all runs; and how that went over time. Thread-safe.
  virtual const CrawlTally& tally() const = 0;
  virtual const CrawlHistory& history() const = 0;
  virtual const FetchCounts& fetches() const = 0;
  virtual const OpenReport& opened() const = 0;
  virtual std::optional<CrawlLimit> reached_limit() const = 0;
  // Says why the crawl, over all its runs, is incomplete: no page or no seed had a status of 2xx,
  // hosts are parked with URLs queued, or origins are held for lack of a robots.txt or for their
  // certificate. Empty if it is complete.
  virtual std::optional<std::string> incomplete() const = 0;
  // Whether another run would retry failures of this run without --retry-failed.
  virtual bool has_parked_hosts() const = 0;
  virtual const FailedSeeds& failed_seeds() const = 0;
  virtual const HostTroubles& host_troubles() const = 0;
  // Redirects of seeds to what did not belong to a seed; see SeedRedirects.
  virtual std::vector<SeedRedirect> redirected_seeds() const = 0;
  virtual const std::string& pages_path() const = 0;
  // URLs set aside in this run because the crawl crashed on them.
  virtual std::vector<std::string> crashed() const = 0;
  // Messages on damage that a crash left in the output, and its repair.
  virtual const std::vector<std::string>& repairs() const = 0;

  // Steering. All these calls are thread-safe, from open() to the destruction of the crawl; after
  // close() those that return a Result fail with kClosed. None waits for a frontier that is out of
  // reach: it fails with kUnavailable.

  // Leases nothing more until unpause(); requests in flight finish, scope.max_time goes on, and the
  // crawl does not end for lack of URLs.
  virtual void pause() = 0;
  virtual void unpause() = 0;
  virtual bool paused() const = 0;
  virtual CrawlPhase phase() const = 0;
  // Queues URLs durably, as far as the scope allows them; robots.txt is asked before they are
  // fetched.
  virtual Result<OfferReport> offer(std::span<const OfferedUrl> urls) = 0;
  // Applies another config, as far as that is possible without a restart: see docs/operating.md. An
  // error changes nothing. Waits until each fetcher thread is between two pages.
  virtual Result<ReloadReport> reload(const CrawlConfig& config) = 0;
  // The same with the config that CrawlOpening::reread reads.
  virtual Result<ReloadReport> reload() = 0;
  // The config in effect.
  virtual CrawlConfig config() const = 0;
  // Calls `use` with the config and the rules in effect. A reload waits until it returns, with all
  // fetchers: it must neither take long nor call the crawl.
  virtual void with_rules(
      const std::function<void(const CrawlConfig&, const CrawlRules&)>& use) const = 0;
  virtual std::string state_dir() const = 0;

  // Hosts with queued URLs or settings of their own.
  virtual Result<std::vector<HostRow>> hosts(HostOrder order, std::size_t limit) const = 0;
  // Errors: kNotFound.
  virtual Result<HostRow> host(const std::string& name) const = 0;
  // Errors: kInvalidArgument.
  virtual Result<void> set_host(const std::string& name, const HostSettings& settings) = 0;
  // No requests to the host until `until`, at most a year from now; absent: until it is unblocked,
  // in later runs too. The crawl waits for blocked hosts: it does not end while they have URLs.
  virtual Result<void> block_host(const std::string& name, std::optional<SystemTime> until) = 0;
  // Ends a block, and revives a parked host.
  virtual Result<void> unblock_host(const std::string& name) = 0;
  // Deletes the queue of a host; its URLs stay seen. Returns how many were deleted.
  virtual Result<std::uint64_t> drop_host(const std::string& name) = 0;
  virtual Result<UrlState> lookup(const std::string& url) = 0;
  // The crawlers that share the crawl, some seconds old, after close() too. Nothing: it is this
  // one's alone. Never waits.
  virtual std::optional<ClusterStatus> cluster() const = 0;
  // The newest checkpoint of this run.
  virtual std::optional<CheckpointInfo> last_checkpoint() const = 0;
};

// Checks what a crawl with this config needs regardless of its state: rules, lists and certificates
// that can be read, and enough open files.
Result<void> check_crawl(const CrawlConfig& config);

// Translates the config to frontier options, without callbacks. Errors: kInvalidArgument for
// invalid rules for canonical keys.
Result<EmbeddedOptions> frontier_options_of(const CrawlConfig& config);
// The same for a config with [cluster]; reads the file of the password. Errors: also those of
// redis_place() and read_redis_password().
Result<SharedOptions> shared_options_of(const CrawlConfig& config);

}  // namespace trawl
