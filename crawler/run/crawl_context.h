// CrawlContext: the state that the threads of a crawl share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "trawl/canonicalizer.h"
#include "trawl/frontier.h"
#include "trawl/shared_frontier.h"

#include "base/mutex.h"
#include "base/rate_limiter.h"
#include "crawler/config/crawl_config.h"
#include "crawler/config/host_politeness.h"
#include "crawler/config/host_requests.h"
#include "crawler/config/media_types.h"
#include "crawler/crash/crash_loop_breaker.h"
#include "crawler/decide/crawl_limits.h"
#include "crawler/decide/host_limits.h"
#include "crawler/decide/page_quota.h"
#include "crawler/decide/parked_patterns.h"
#include "crawler/decide/priorities.h"
#include "crawler/decide/recrawl_policy.h"
#include "crawler/decide/response_rules.h"
#include "crawler/decide/seed_redirects.h"
#include "crawler/decide/url_decider.h"
#include "crawler/http/body_memory_budget.h"
#include "crawler/log/room_log.h"
#include "crawler/output/known_bodies.h"
#include "crawler/output/output.h"
#include "crawler/run/archived_lookups.h"
#include "crawler/run/asked_delays.h"
#include "crawler/run/connection_shares.h"
#include "crawler/run/crawl_control.h"
#include "crawler/run/failed_seeds.h"
#include "crawler/run/fetch_counts.h"
#include "crawler/run/guessed_urls.h"
#include "crawler/run/held_origins.h"
#include "crawler/run/host_logins.h"
#include "crawler/run/host_troubles.h"
#include "crawler/run/safe_point.h"
#include "crawler/run/truncated_responses.h"
#include "crawler/run/unread_pages.h"
#include "crawler/state/sitemap_pages.h"
#include "crawler/tally/crawl_tally.h"
#include "url/url_credentials.h"

namespace trawl {

// A lease expires unless its fetcher renews it within this time.
inline constexpr std::chrono::milliseconds kLeaseTimeout = std::chrono::minutes(10);

// Why a crawl is paused. The reasons are independent of each other.
enum class PauseReason : std::uint32_t { kAsked = 1, kDiskFull = 2 };

// The seeds of a config, in order. It was validated: seeds that do not parse were reported there.
std::vector<Url> parse_seeds(const CrawlConfig& config);

// The rules of a config on URLs and responses. Immutable, thread-safe.
struct CrawlRules {
  // `redirects`: see UrlDecider::create().
  static Result<std::unique_ptr<CrawlRules>> create(
      const CrawlConfig& config, const std::vector<Url>& seeds,
      std::shared_ptr<const SeedRedirects> redirects = nullptr);

  Canonicalizer canonicalizer;
  UrlDecider decider;
  Priorities priorities;
  RecrawlPolicy recrawl;
  HostRequests requests;
  HostPoliteness politeness;
  MediaTypes fetched_types;  // empty: all
  ReadResponses read;
  KeptResponses kept;
};

struct CrawlContext {
  const CrawlConfig& config;
  const CrawlRules& rules;
  Frontier& frontier;
  const SharedFrontier* shared;  // the same; null: it is this crawler's alone
  Output& output;
  PageQuota& pages;
  ConnectionShares& connections;
  UnreadPages& unread_pages;
  CrawlLimits& limits;
  RateLimiter& request_rate;
  CrashLoopBreaker& crashes;
  HostUrlQuota& urls_of_hosts;
  ParkedPatterns& parked_patterns;
  SeedRedirects& seed_redirects;
  SkipCounts& skipped;
  FetchCounts& fetches;
  CrawlTally& tally;
  const KnownBodies* known_bodies;  // of earlier crawls; null: none
  std::shared_ptr<BodyMemoryBudget> bodies;
  const std::string robots_agent;  // our product token in robots.txt
  const bool resumed;              // an earlier run started this crawl
  const bool trusts_less;          // than the run before; see ResumedConfig::trusts_less
  const KeyedHash link_hash = KeyedHash::random();  // see KnownLinks
  GuessedUrls guessed{link_hash};
  FailedSeeds failed_seeds = {};
  TruncatedResponses truncated_responses{config.fetch.max_memory / 4};
  HeldOrigins held_origins = {};
  HostTroubles host_troubles{
      [](const std::string& line) { room_log(LogRoom::kFrontier).warn("{}", line); }};
  AskedDelays asked_delays = {};
  ArchivedLookups archived_lookups = {};
  HostLogins logins{config.fetch.logins};
  SitemapPages* sitemap_pages = nullptr;    // null: no sitemaps or recrawls
  std::function<void()> on_end = [] {};     // see Crawl::on_end()
  std::atomic<std::uint64_t> in_flight{0};  // leases that the fetchers hold
  // `config`, `rules` and `reloads` change only there.
  SafePoint safe_point = {};
  std::uint32_t reloads = 0;  // how often they changed

  // acquire: a thread that sees a phase sees why it began; pairs with the release in advance_to().
  CrawlPhase phase() const { return phase_.load(std::memory_order_acquire); }
  // Advances to `phase` unless the crawl is there or further. Returns true if it advanced.
  bool advance_to(CrawlPhase phase) {
    CrawlPhase now = phase_.load(std::memory_order_relaxed);
    while (now < phase) {
      // release: pairs with the acquire in phase().
      if (phase_.compare_exchange_weak(now, phase, std::memory_order_release,
                                       std::memory_order_relaxed))
        return true;
    }
    return false;
  }

  // The crawl ends by this limit, even if others give back of it later.
  void end_by(CrawlLimit limit) {
    {
      const MutexLock lock(mutex_);
      if (!ended_by_) ended_by_ = limit;
    }
    advance_to(CrawlPhase::kDraining);
  }
  std::optional<CrawlLimit> ended_by() const {
    const MutexLock lock(mutex_);
    return ended_by_;
  }

  // While any reason to pause holds, the fetchers lease nothing.
  bool paused() const { return pauses_.load(std::memory_order_relaxed) != 0; }
  bool paused_for(PauseReason reason) const {
    return (pauses_.load(std::memory_order_relaxed) & static_cast<std::uint32_t>(reason)) != 0;
  }
  // Returns true if that changed anything. Who ends a pause wakes the fetchers.
  bool set_paused(PauseReason reason, bool paused) {
    const auto bit = static_cast<std::uint32_t>(reason);
    const std::uint32_t before = paused ? pauses_.fetch_or(bit, std::memory_order_relaxed)
                                        : pauses_.fetch_and(~bit, std::memory_order_relaxed);
    return ((before & bit) != 0) != paused;
  }

  // E1: keeps the first error, and aborts the crawl.
  void stop_with(Error error) {
    {
      const MutexLock lock(mutex_);
      if (!failure_) failure_ = std::move(error);
    }
    advance_to(CrawlPhase::kAborting);
  }
  std::optional<Error> failure() const {
    const MutexLock lock(mutex_);
    return failure_;
  }

  // Records the first failed fetch, as an example for the summary.
  void note_failed_fetch(const std::string& url, const std::string& error) {
    const MutexLock lock(mutex_);
    if (failed_fetch_.empty()) failed_fetch_ = scrubbed(url + ": " + error);
  }
  std::string failed_fetch() const {
    const MutexLock lock(mutex_);
    return failed_fetch_;
  }

  std::atomic<CrawlPhase> phase_{CrawlPhase::kRunning};
  std::atomic<std::uint32_t> pauses_{0};  // PauseReason
  mutable Mutex mutex_ = {};
  std::optional<Error> failure_ TRAWL_GUARDED_BY(mutex_) = {};
  std::optional<CrawlLimit> ended_by_ TRAWL_GUARDED_BY(mutex_) = {};
  std::string failed_fetch_ TRAWL_GUARDED_BY(mutex_) = {};
};

}  // namespace trawl
