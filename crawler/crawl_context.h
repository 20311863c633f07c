// CrawlContext: what the threads of a crawl share.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "trawl/frontier.h"

#include "crawler/config/config.h"
#include "crawler/page_budget.h"
#include "crawler/scope.h"

namespace trawl {

// In the order a crawl goes through them; never back.
enum class CrawlPhase {
  kRunning,
  kDraining,  // no new leases; what is in flight is finished
  kAborting,  // what is in flight is dropped
};

class CrawlContext {
 public:
  CrawlContext(const CrawlConfig& the_config, Frontier& the_frontier, const Scope& the_scope,
               PageBudget& the_budget, SkipCounts& skip_counts, std::string agent)
      : config(the_config),
        frontier(the_frontier),
        scope(the_scope),
        budget(the_budget),
        skipped(skip_counts),
        robots_agent(std::move(agent)) {}

  const CrawlConfig& config;
  Frontier& frontier;
  const Scope& scope;
  PageBudget& budget;
  SkipCounts& skipped;
  const std::string robots_agent;           // its product token is how robots.txt knows us
  std::atomic<std::uint64_t> in_flight{0};  // leases the fetchers hold
  std::atomic<std::uint64_t> succeeded{0};  // fetches without an error

  CrawlPhase phase() const { return phase_.load(); }
  // Goes on to `phase` unless the crawl is there or further; true if it went.
  bool advance_to(CrawlPhase phase) {
    CrawlPhase now = phase_.load();
    while (now < phase) {
      if (phase_.compare_exchange_weak(now, phase)) return true;
    }
    return false;
  }

  // Keeps the first error, and aborts the crawl.
  void stop_with(Error error) {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::move(error);
    }
    advance_to(CrawlPhase::kAborting);
  }
  std::optional<Error> failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

  // Keeps the first fetch that failed, as an example of why.
  void note_failed_fetch(const std::string& url, const std::string& error) {
    const std::lock_guard lock(mutex_);
    if (failed_fetch_.empty()) failed_fetch_ = url + ": " + error;
  }
  std::string failed_fetch() const {
    const std::lock_guard lock(mutex_);
    return failed_fetch_;
  }

 private:
  std::atomic<CrawlPhase> phase_{CrawlPhase::kRunning};
  mutable std::mutex mutex_;
  std::optional<Error> failure_;
  std::string failed_fetch_;
};

}  // namespace trawl
