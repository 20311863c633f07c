// CrawlSteering: what other threads ask of a running crawl. See the steering calls of Crawl.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trawl/frontier.h"

#include "base/mutex.h"
#include "base/rate_limiter.h"
#include "crawler/decide/seed_redirects.h"
#include "crawler/run/crawl_context.h"
#include "crawler/run/crawl_control.h"

namespace trawl {

// What a reload changes: `config` and `rules` are those that the context refers to. `read` is the
// config as it was read last, `saved` the one that is stored for later runs.
struct ReloadedParts {
  CrawlConfig& config;
  CrawlRules& rules;
  std::shared_ptr<const SeedRedirects> redirects;
  RateLimiter& receive_rate;  // fetch.limit_rate
  CrawlConfig read;
  CrawlConfig saved;
  std::function<Result<void>(const CrawlConfig::Log&)> set_log = {};
};

// Thread-safe.
class CrawlSteering {
 public:
  // All must outlive the object. `frontier`: one that does not wait while it is out of reach.
  // `wake`: wakes all fetchers.
  CrawlSteering(CrawlContext& context, Frontier& frontier, ReloadedParts parts,
                std::function<void()> wake)
      : context_(context), frontier_(frontier), wake_(std::move(wake)), parts_(std::move(parts)) {}

  // See the members of Crawl with the same names.
  void pause(PauseReason reason);
  void unpause(PauseReason reason);
  Result<OfferReport> offer(std::span<const OfferedUrl> urls);
  Result<std::vector<HostRow>> hosts(HostOrder order, std::size_t limit) const;
  Result<HostRow> host(const std::string& name) const;
  Result<void> set_host(const std::string& name, const HostSettings& settings);
  Result<void> block_host(const std::string& name, std::optional<SystemTime> until);
  Result<void> unblock_host(const std::string& name);
  Result<std::uint64_t> drop_host(const std::string& name);
  Result<ReloadReport> reload(const ReadConfig& read);
  CrawlConfig config() const;
  void with_rules(const std::function<void(const CrawlConfig&, const CrawlRules&)>& use) const;
  // Held URLs may still be queued.
  bool is_reloading() const { return reloading_now_.load(std::memory_order_relaxed); }

 private:
  Result<ReloadReport> reload_alone(const ReadConfig& read) TRAWL_REQUIRES(reloading_);
  Result<void> put_into_effect(const CrawlConfig& next, std::unique_ptr<CrawlRules> rules)
      TRAWL_REQUIRES(reloading_);
  void replace_parts(const CrawlConfig& next, CrawlRules& rules) TRAWL_REQUIRES(using_parts_);
  Result<void> offer_new_seeds(const CrawlConfig::Crawl& before) TRAWL_REQUIRES(reloading_);
  void save(const CrawlConfig& read);

  CrawlContext& context_;
  Frontier& frontier_;
  const std::function<void()> wake_;
  Mutex reloading_;  // held during a reload
  std::atomic<bool> reloading_now_{false};
  // For threads other than the fetchers: shared to read the config and the rules; exclusive, at a
  // safe point of the fetchers too, to change them.
  mutable SharedMutex using_parts_ TRAWL_ACQUIRED_AFTER(reloading_);
  ReloadedParts parts_;
  bool seeds_missing_ TRAWL_GUARDED_BY(reloading_) = false;  // new seeds could not be offered
};

}  // namespace trawl
