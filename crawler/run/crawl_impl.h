// CrawlImpl: the parts of a crawl. crawl_opening.cc makes them, crawl.cc runs and closes them;
// crawl_sharing.cc has what is different if several crawlers share the crawl.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "trawl/embedded_frontier.h"
#include "trawl/url.h"

#include "base/mutex.h"
#include "base/one_thread.h"
#include "base/rate_limiter.h"
#include "crawler/config/crawl_config.h"
#include "crawler/decide/crawl_limits.h"
#include "crawler/decide/host_limits.h"
#include "crawler/decide/limit_portions.h"
#include "crawler/decide/page_quota.h"
#include "crawler/http/site_cookies.h"
#include "crawler/output/output.h"
#include "crawler/run/crawl.h"
#include "crawler/run/crawl_context.h"
#include "crawler/run/crawl_steering.h"
#include "crawler/run/fetcher.h"
#include "crawler/run/held_url_requeuer.h"
#include "crawler/run/wait_limit.h"
#include "crawler/state/crawl_totals.h"
#include "crawler/state/free_space_guard.h"
#include "crawler/state/resumed_config.h"
#include "crawler/state/sitemap_pages.h"
#include "crawler/tally/stored_tally.h"

namespace trawl {

class CrawlImpl final : public Crawl {
 public:
  CrawlImpl(const ResumedConfig& resumed, const CrawlConfig& read);
  ~CrawlImpl() override;

  Result<void> open(const CrawlOpening& opening);

  Result<std::uint64_t> retry_failed() override;

  void start() override;

  bool ended() override;
  void on_end(std::function<void()> callback) override;
  EndReason why_ended() const override;

  void drain() override { advance_to(CrawlPhase::kDraining); }
  void abort() override { advance_to(CrawlPhase::kAborting); }

  void request_checkpoint() override;

  Result<void> close() override;

  CrawlProgress progress() const override;
  const SkipCounts& skipped() const override { return skipped_; }
  std::map<std::string, std::uint64_t> skipped_in_all() const override;
  const FetchCounts& fetches() const override { return fetches_; }
  const CrawlTally& tally() const override { return *tally_; }
  const CrawlHistory& history() const override { return *history_; }
  const OpenReport& opened() const override { return opened_; }
  bool ends_before_recrawls(const Progress& how_far) const;
  bool reached_max_pages() const { return pages_->used_up(); }
  std::optional<CrawlLimit> reached_limit() const override;
  std::optional<std::string> incomplete() const override;
  bool has_parked_hosts() const override;
  const FailedSeeds& failed_seeds() const override { return context_->failed_seeds; }
  const HostTroubles& host_troubles() const override { return context_->host_troubles; }
  std::vector<SeedRedirect> redirected_seeds() const override { return seed_redirects_->found(); }
  const std::string& pages_path() const override { return output_->pages_path(); }
  std::vector<std::string> crashed() const override { return crashes_->were_set_aside(); }
  const std::vector<std::string>& repairs() const override { return output_->repairs(); }

  void pause() override { steering_->pause(PauseReason::kAsked); }
  void unpause() override { steering_->unpause(PauseReason::kAsked); }
  bool paused() const override { return context_->paused(); }
  CrawlPhase phase() const override { return context_->phase(); }
  Result<OfferReport> offer(std::span<const OfferedUrl> urls) override;
  Result<ReloadReport> reload(const CrawlConfig& config) override;
  Result<ReloadReport> reload() override;
  CrawlConfig config() const override { return steering_->config(); }
  void with_rules(
      const std::function<void(const CrawlConfig&, const CrawlRules&)>& use) const override;
  std::string state_dir() const override { return config_.crawl.state_dir.string(); }
  Result<std::vector<HostRow>> hosts(HostOrder order, std::size_t limit) const override;
  Result<HostRow> host(const std::string& name) const override { return steering_->host(name); }
  Result<void> set_host(const std::string& name, const HostSettings& settings) override;
  Result<void> block_host(const std::string& name, std::optional<SystemTime> until) override;
  Result<void> unblock_host(const std::string& name) override;
  Result<std::uint64_t> drop_host(const std::string& name) override;
  Result<UrlState> lookup(const std::string& url) override { return without_retries_->lookup(url); }
  std::optional<ClusterStatus> cluster() const override;
  std::optional<CheckpointInfo> last_checkpoint() const override;

 private:
  // The last known counts if the frontier is out of reach: progress reports must not wait.
  FrontierStats stats() const;
  void note_limits(CrawlProgress& progress, std::chrono::steady_clock::time_point now) const;
  // Of the whole crawl.
  FrontierCounters counters(const FrontierStats& own) const;

  // An unknown progress is not the end.
  Progress frontier_progress() const;
  static bool has_parked_queue(const FrontierStats& stats);
  std::optional<std::string> incomplete_origins() const;

  // Checked before anything is created, so that an error leaves no incomplete crawl behind.
  Result<void> check_places(const CrawlOpening& opening) const;
  Result<void> open_sitemap_pages();
  Result<void> make_rules();
  Result<void> open_frontier(const CrawlOpening& opening);
  Result<std::unique_ptr<Frontier>> open_own_frontier(const CrawlOpening& opening);

  // In crawl_sharing.cc.
  bool is_shared() const { return shared_ != nullptr; }
  Result<std::unique_ptr<Frontier>> open_shared_frontier(const CrawlOpening& opening);
  void share_limits();
  Result<void> return_portions();
  // Logs when crawlers come and go, and what of Redis this one waits for.
  void watch_cluster();
  void tell_share(const ClusterStatus& status, std::chrono::steady_clock::time_point now);
  void note_gained(const ClusterStatus& status, std::chrono::steady_clock::time_point now);
  void limit_waits();
  // Applies what each run does at its start (held URLs that its rules allow, failed URLs that are
  // due, parked hosts) to the buckets that this crawler got. Returns whether that is in progress,
  // or to be done before the crawl ends. `end`: nothing else is left to fetch.
  bool settles_buckets(const Progress* end);
  bool may_settle_more(const Progress& end) const;
  bool is_settling_time() const;
  bool waits_for_totals(const Progress& end);
  Result<void> settle_buckets(bool revives) const;

  // Room for the transfers of all leases, and for completions that became durable just now.
  Result<void> open_crash_guard();

  // True while URLs of held origins are being queued again. `idle`: nothing else is left to fetch.
  bool offers_held(bool idle);

  // Called when nothing else is left: queues the next URL that was put off because it may crash the
  // crawl. Returns false if there is none.
  bool fetch_suspect();

  // Repairs WARC files that a crash left open under a name that the config no longer gives. Called
  // before the output is opened, since both lock the files of their prefix.
  Result<void> close_former_files() const;

  // Schedules recrawls of pages that were fetched before [recrawl] was set.
  Result<void> plan_recrawls();

  // Queues URLs that rules of an earlier run excluded and those of this run allow.
  Result<void> offer_held();

  // What earlier runs did.
  Result<void> open_tally();
  TallyTarget tally_target();

  // A failure does not stop the crawl: the lines of pages.jsonl are counted again at the next
  // start.
  void store_tally(std::uint64_t offset) const;
  std::uint64_t run_ms() const;

  // Each minute, and after a checkpoint. A failure does not stop the crawl: only totals are lost.
  void save_totals();
  void sample_history();
  Result<void> create_fetchers();
  Result<void> offer_seeds();

  // output.min_free: pauses, goes on, or ends the crawl before a disk is full.
  void check_free_space();
  void wake(std::uint32_t shard);
  void advance_to(CrawlPhase phase);
  void wake_all();

  // Runs on the frontier's checkpoint thread, perhaps before open() has returned.
  void on_checkpoint(const CheckpointEvent& event);
  void note_checkpoint(const CheckpointEvent& event);
  CrawlTotals::Totals totals_now() const;

  // Warns once when there is no more room for URLs set aside.
  void warn_of_full_set_aside();
  void join();

  CrawlConfig config_;       // see ReloadedParts for what changes, and when
  const CrawlConfig saved_;  // for later runs
  const CrawlConfig read_;   // as given to open()
  const bool trusts_less_;
  const std::vector<Url> seeds_;
  std::unique_ptr<CrawlRules> rules_;
  const std::uint32_t threads_wanted_;
  OneThread thread_;  // the thread that calls ended()
  std::optional<Progress> progress_at_end_;
  SkipCounts skipped_;
  FetchCounts fetches_;
  std::optional<CrawlTally> tally_;
  std::optional<CrawlHistory> history_;
  StoredTally stored_before_;  // of earlier runs: what `tally_` and `history_` do not have
  const std::shared_ptr<BodyMemoryBudget> bodies_;
  const std::shared_ptr<SiteCookies> cookies_ = std::make_shared<SiteCookies>(bodies_);
  const std::shared_ptr<RateLimiter> receive_rate_;  // fetch.limit_rate
  RateLimiter request_rate_;                         // politeness.max_rate
  FreeSpaceGuard free_space_;
  HostUrlQuota urls_of_hosts_;
  std::unique_ptr<ParkedPatterns> parked_patterns_;
  std::shared_ptr<SeedRedirects> seed_redirects_;
  std::unique_ptr<SitemapPages> sitemap_pages_;
  std::optional<PageQuota> pages_;
  std::optional<ConnectionShares> shares_;
  std::optional<UnreadPages> unread_pages_;
  std::optional<CrawlTotals> totals_;
  CrawlTotals::Totals before_;  // sums of earlier runs
  std::optional<CrawlLimits> limits_;
  std::unique_ptr<CrashLoopBreaker> crashes_;
  std::unique_ptr<KnownBodies> known_bodies_;
  std::unique_ptr<Output> output_;
  OpenReport opened_;
  FrontierStats at_open_;
  mutable Mutex last_stats_mutex_;
  mutable FrontierStats last_stats_ TRAWL_GUARDED_BY(last_stats_mutex_);
  std::optional<CheckpointInfo> last_checkpoint_ TRAWL_GUARDED_BY(last_stats_mutex_);
  std::chrono::steady_clock::time_point started_{};
  std::chrono::steady_clock::time_point totals_saved_ = std::chrono::steady_clock::now();
  std::atomic<bool> totals_due_{false};

  std::atomic<bool> running_{false};
  std::atomic<bool> set_aside_full_{false};        // the warning was printed
  std::atomic<bool> checkpoint_asked_for_{false};  // by SIGUSR1, and not yet published

  // Destroyed in reverse order: the frontier calls into the fetchers until it is destroyed.
  std::unique_ptr<CrawlContext> context_;
  std::vector<std::unique_ptr<Fetcher>> fetchers_;
  std::unique_ptr<Frontier> frontier_;
  Frontier* without_retries_ = nullptr;  // the same, without waiting
  SharedFrontier* shared_ = nullptr;     // the same; null: it is this crawler's alone
  // Whether files of an earlier run are in the state directory.
  bool has_earlier_files_ = false;
  // With a shared frontier.
  std::unique_ptr<LimitPortions> page_portions_;
  std::unique_ptr<LimitPortions> byte_portions_;
  mutable ClusterStatus last_cluster_ TRAWL_GUARDED_BY(last_stats_mutex_);
  std::chrono::steady_clock::time_point watched_{};
  ClusterStatus watched_status_;
  struct Share {
    std::size_t members = 0, owned = 0;
    friend bool operator==(const Share&, const Share&) = default;
  };
  Share share_, told_share_;
  std::chrono::steady_clock::time_point share_since_{};
  std::uint64_t gained_ = 0;   // ClusterStatus::gained as it was seen last
  std::uint64_t settled_ = 0;  // and of the last work of settles_buckets()
  std::chrono::steady_clock::time_point gained_at_{};
  std::future<Result<void>> settling_;
  std::chrono::steady_clock::time_point finished_at_{};
  std::optional<WaitLimit> wait_limit_;  // from drain() on
  std::vector<std::thread> threads_;
  std::optional<CrawlSteering> steering_;
  std::function<Result<ReadConfig>()> reread_;
  std::optional<HeldUrlRequeuer> held_url_requeuer_;  // its thread uses the members above
};

}  // namespace trawl
