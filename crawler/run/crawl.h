// Crawl: a whole crawl: the frontier, the fetcher threads, the output, the checkpoints.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "trawl/embedded_frontier.h"
#include "trawl/result.h"

#include "crawler/config/config.h"
#include "crawler/decide/crawl_limits.h"
#include "crawler/decide/url_verdict.h"
#include "crawler/run/failed_seeds.h"
#include "crawler/run/fetch_counts.h"

namespace trawl {

struct CrawlProgress {
  FrontierStats frontier;
  std::uint64_t fetched = 0;      // finished fetches since the crawl began
  std::uint64_t fetched_now = 0;  // of these, by this process
  // URLs done with a part of the body, which are not among them: since the crawl began.
  std::uint64_t truncated = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t bodies_memory = 0;                // bytes: see fetch.max_memory
  std::chrono::steady_clock::duration elapsed{};  // of this process
};

// Why a crawl ended by itself; the first that holds.
enum class CrawlEnd : std::uint8_t {
  kStopped,       // it was asked to, or an error made it
  kFinished,      // every URL is done
  kLimit,         // reached_limit()
  kRecrawlsWait,  // what is not done is to be fetched again later
  kExhausted,     // what is not done is of hosts that are parked, or at their limit
};

// What begins a crawl, beside its config.
struct CrawlOpening {
  OpenMode mode = OpenMode::kCreateOrResume;
  bool replace_profile = false;        // SeenOptions::replace_profile
  const CrawlConfig* saved = nullptr;  // what is kept for later runs; null: the config itself
  // The frontier that the crawl is to have: one with StorageOptions::shards.
  std::function<Result<std::unique_ptr<Frontier>>(const EmbeddedOptions&, OpenReport*)> frontier =
      EmbeddedFrontier::open;
};

class Crawl {
 public:
  // Opens the state directory and offers the seeds; fetches nothing yet. Errors: those of
  // CrawlOpening::frontier, and those of the output's files.
  static Result<std::unique_ptr<Crawl>> open(const CrawlConfig& config,
                                             const CrawlOpening& opening);
  virtual ~Crawl() = default;

  // Before start(): queues all URLs again that ended as failed, durably. Returns how many.
  virtual Result<std::uint64_t> retry_failed() = 0;
  virtual void start() = 0;
  // True when there is nothing left to do: all is fetched, a limit is reached, the drain that was
  // asked for is over, or an error stopped it. To be called often, by one thread: begins with what
  // was put off until there is nothing else to do.
  virtual bool ended() = 0;
  virtual void drain() = 0;  // finish what is in flight, start nothing new
  virtual void abort() = 0;  // drop what is in flight
  virtual void request_checkpoint() = 0;

  // Once ended() is true.
  virtual CrawlEnd why_ended() const = 0;

  // After ended() or abort(): ends the threads, publishes a checkpoint, closes the state. Returns
  // the error that stopped the crawl, if one did.
  virtual Result<void> close() = 0;

  virtual CrawlProgress progress() const = 0;
  virtual const SkipCounts& skipped() const = 0;
  virtual const FetchCounts& fetches() const = 0;
  virtual const OpenReport& opened() const = 0;
  virtual std::optional<CrawlLimit> reached_limit() const = 0;
  // Whether all runs of the crawl together brought too little to be called done: nothing came back
  // with a 2xx, or no seed did, or hosts are parked with URLs queued, or origins are held without a
  // robots.txt or for their certificate. Then a sentence that says so.
  virtual std::optional<std::string> incomplete() const = 0;
  // Whether another run would ask what failed in this one without being told to.
  virtual bool has_parked_hosts() const = 0;
  virtual const FailedSeeds& failed_seeds() const = 0;
  virtual const std::string& pages_path() const = 0;
  // URLs set aside in this run, since the crawl crashed on them.
  virtual std::vector<std::string> crashed() const = 0;
  // What a crash had left in the output, and what was done about it.
  virtual const std::vector<std::string>& repairs() const = 0;
};

// What keeps a crawl of this config from beginning, whatever state it has: rules, lists and
// certificates that cannot be read, too few open files.
Result<void> check_crawl(const CrawlConfig& config);

// What a config says of the frontier; without the callbacks. Errors: kInvalidArgument for rules for
// canonical keys that cannot be.
Result<EmbeddedOptions> frontier_options_of(const CrawlConfig& config);

}  // namespace trawl
