// How a crawl is opened: everything is made in an order that a crash may interrupt anywhere. The
// frontier comes first, since it locks the state directory; then the output, whose files are
// repaired before anything can be completed; then the fetchers; and what is queued at the start.
#include <algorithm>
#include <filesystem>
#include <future>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "trawl/url_groups.h"

#include "crawler/config/crawl_paths.h"
#include "crawler/config/user_agent.h"
#include "crawler/decide/fetch_memory_plan.h"
#include "crawler/decide/host_pace.h"
#include "crawler/decide/recrawl_plan.h"
#include "crawler/log/room_log.h"
#include "crawler/run/crawl_cookies.h"
#include "crawler/run/crawl_impl.h"
#include "crawler/run/crawl_resources.h"
#include "crawler/run/held_urls.h"
#include "crawler/run/retrying_frontier.h"
#include "crawler/run/start_requests.h"
#include "crawler/state/output_checks.h"
#include "crawler/state/state_contents.h"

namespace trawl {

namespace {

// How long open() waits for a frontier that is out of reach.
constexpr std::chrono::seconds kOpeningTimeout(10);

}  // namespace

CrawlImpl::CrawlImpl(const ResumedConfig& resumed, const CrawlConfig& read)
    : config_(resumed.config),
      saved_(resumed.saved),
      read_(read),
      trusts_less_(resumed.trusts_less),
      seeds_(parse_seeds(config_)),
      threads_wanted_(std::min(config_.fetch.threads, config_.fetch.connections)),
      bodies_(std::make_shared<BodyMemoryBudget>(config_.fetch.max_memory,
                                                 FetchMemoryPlan::of(config_).for_bodies)),
      receive_rate_(std::make_shared<RateLimiter>(static_cast<double>(config_.fetch.limit_rate))),
      request_rate_(config_.politeness.max_rate),
      free_space_({config_.crawl.state_dir, output_directory(config_)}, config_.output.min_free,
                  config_.output.min_free_wait),
      urls_of_hosts_(LimitByHost::urls(config_), bodies_,
                     FetchMemoryPlan::of(config_).of_url_counts) {}

Result<void> CrawlImpl::open(const CrawlOpening& opening) {
  if (auto fits = check_descriptors(config_.fetch.connections); !fits) return fits;
  const auto imported = cookies_to_import(config_);
  if (!imported) return tl::unexpected(imported.error());
  if (auto made = make_rules(); !made) return made;
  if (auto usable = check_places(opening); !usable) return usable;
  // While the state is opened, which waits for the disk.
  const auto libraries = std::async(std::launch::async | std::launch::deferred,
                                    [] { HttpClient::set_up_libraries(); });
  if (auto opened = open_frontier(opening); !opened) return opened;
  // After the directory is locked, and before anything can be completed.
  if (auto closed = close_former_files(); !closed) return closed;
  const bool sync = config_.cluster.enabled()
                        ? config_.cluster.durability == ClusterDurability::kSynced
                        : config_.frontier.durability == Durability::kSync;
  if (auto read = open_tally(); !read) return read;
  auto output = Output::open(config_, output_directory(config_), config_.crawl.state_dir, sync,
                             opening.sinks, tally_target());
  if (!output) return tl::unexpected(output.error());
  output_ = std::move(*output);
  auto known = KnownBodies::open(config_, output_->sinks().inputs().exchanges);
  if (!known) return tl::unexpected(known.error());
  known_bodies_ = *std::move(known);
  if (auto saved = save_configs(config_, saved_); !saved) return saved;
  if (auto begun = begin_cookies(*cookies_, config_, *imported); !begun) return begun;
  if (auto begun = seed_redirects_->begin(config_.crawl.state_dir, has_earlier_files_); !begun)
    return begun;
  if (auto pages = open_sitemap_pages(); !pages) return pages;
  if (auto counted = urls_of_hosts_.start(*frontier_); !counted) return counted;
  auto patterns = ParkedPatterns::open(config_.crawl.state_dir, has_earlier_files_,
                                       config_.scope.park_pattern_after);
  if (!patterns) return tl::unexpected(patterns.error());
  parked_patterns_ = std::move(*patterns);
  if (!is_shared()) {  // else see SharedOptions::page_limit
    if (auto changed = HostPageQuota::begin(*frontier_, has_earlier_files_, config_.crawl.state_dir,
                                            LimitByHost::pages(config_));
        !changed) {
      return changed;
    }
  }
  if (auto changed = HostPace::begin(*frontier_, has_earlier_files_, config_.crawl.state_dir,
                                     rules_->politeness);
      !changed) {
    return changed;
  }

  const auto stats = frontier_->stats();
  if (!stats) return tl::unexpected(stats.error());
  at_open_ = *stats;
  {
    const MutexLock lock(last_stats_mutex_);
    last_stats_ = *stats;
  }
  totals_.emplace(config_.crawl.state_dir);
  if (auto guarded = open_crash_guard(); !guarded) return guarded;
  before_ = totals_->read();
  limits_.emplace(config_.scope.max_bytes, config_.scope.max_time, std::chrono::steady_clock::now(),
                  before_.bytes);
  if (is_shared())
    share_limits();
  else
    pages_.emplace(config_.scope.max_pages, at_open_.completed - at_open_.skipped);
  shares_.emplace(config_.fetch.connections, threads_wanted_,
                  [this](std::size_t thread) { wake(static_cast<std::uint32_t>(thread)); });
  unread_pages_.emplace(threads_wanted_,
                        [this](std::size_t thread) { wake(static_cast<std::uint32_t>(thread)); });
  context_.reset(new CrawlContext{config_,
                                  *rules_,
                                  *frontier_,
                                  shared_,
                                  *output_,
                                  *pages_,
                                  *shares_,
                                  *unread_pages_,
                                  *limits_,
                                  request_rate_,
                                  *crashes_,
                                  urls_of_hosts_,
                                  *parked_patterns_,
                                  *seed_redirects_,
                                  skipped_,
                                  fetches_,
                                  *tally_,
                                  known_bodies_.get(),
                                  bodies_,
                                  robots_token_of(config_.crawl),
                                  opened_.resumed || is_shared(),
                                  trusts_less_});
  context_->sitemap_pages = sitemap_pages_.get();
  steering_.emplace(*context_, *without_retries_,
                    ReloadedParts{.config = config_,
                                  .rules = *rules_,
                                  .redirects = seed_redirects_,
                                  .receive_rate = *receive_rate_,
                                  .read = read_,
                                  .saved = saved_,
                                  .set_log = opening.set_log},
                    [this] { wake_all(); });
  reread_ = opening.reread;
  held_url_requeuer_.emplace(*frontier_, context_->held_origins);
  if (auto created = create_fetchers(); !created) return created;
  if (auto planned = plan_recrawls(); !planned) return planned;
  if (auto offered = offer_held(); !offered) return offered;
  return offer_seeds();
}

Result<void> CrawlImpl::check_places(const CrawlOpening& opening) const {
  if (auto right = check_frontier_place(config_); !right) return right;
  const auto contents = inspect_state(config_);
  if (!contents) return tl::unexpected(contents.error());
  if (*contents == StateContents::kCrawl || *contents == StateContents::kMember ||
      opening.mode == OpenMode::kResume)
    return {};
  return check_output_is_free(config_, opening.sinks);
}

Result<void> CrawlImpl::open_sitemap_pages() {
  const bool has_sitemaps =
      config_.links.sitemaps || config_.links.guess_sitemaps || !config_.crawl.sitemaps.empty();
  if (!has_sitemaps || !rules_->recrawl.recrawls_pages()) return {};
  auto pages = SitemapPages::open(SitemapPages::path(config_.crawl.state_dir));
  if (!pages) return tl::unexpected(pages.error());
  sitemap_pages_ = *std::move(pages);
  return {};
}

Result<void> CrawlImpl::make_rules() {
  auto profile = Profile::from_text(config_.url.text, config_.url.hosts);
  if (!profile) return tl::unexpected(profile.error());
  const Canonicalizer canonicalizer(*profile);
  auto redirects =
      SeedRedirects::read(config_.crawl.state_dir,
                          std::make_shared<SeedSettings>(config_, canonicalizer), canonicalizer);
  if (!redirects) return tl::unexpected(redirects.error());
  seed_redirects_ = *std::move(redirects);
  auto rules = CrawlRules::create(config_, seeds_, seed_redirects_);
  if (!rules) return tl::unexpected(rules.error());
  rules_ = std::move(*rules);
  for (const Blocklist& blocklist : rules_->decider.scope().blocklists()) {
    if (!blocklist.warning().empty()) spdlog::warn("{}", blocklist.warning());
  }
  return {};
}

Result<void> CrawlImpl::open_frontier(const CrawlOpening& opening) {
  auto frontier =
      config_.cluster.enabled() ? open_shared_frontier(opening) : open_own_frontier(opening);
  if (!frontier) return tl::unexpected(frontier.error());
  const auto opened_at = std::chrono::steady_clock::now();
  auto retrying = std::make_unique<RetryingFrontier>(std::move(*frontier), [this, opened_at] {
    // acquire: pairs with the store in start().
    if (running_.load(std::memory_order_acquire)) return context_->phase() == CrawlPhase::kAborting;
    // Signals are not handled yet, so the wait is bounded.
    return std::chrono::steady_clock::now() > opened_at + kOpeningTimeout;
  });
  without_retries_ = &retrying->without_retries();
  frontier_ = std::move(retrying);
  for (std::uint32_t shard = 0; shard < threads_wanted_; ++shard) {
    auto wakes = frontier_->on_wake([this, shard] { wake(shard); }, shard);
    if (!wakes) return wakes;
  }
  return {};
}

Result<std::unique_ptr<Frontier>> CrawlImpl::open_own_frontier(const CrawlOpening& opening) {
  auto options = frontier_options_of(config_);
  if (!options) return tl::unexpected(options.error());
  options->mode = opening.mode;
  options->store.shards = threads_wanted_;
  options->seen.replace_profile = opening.replace_profile;
  options->revive_hosts = true;  // each run tries parked hosts again
  options->checkpoints.on_taken = [this](const CheckpointEvent& event) { on_checkpoint(event); };
  auto frontier = opening.frontier(*options, &opened_);
  has_earlier_files_ = opened_.resumed;
  return frontier;
}

Result<void> CrawlImpl::open_crash_guard() {
  const std::uint32_t leases = most_leases(config_);
  auto crashes = CrashLoopBreaker::open(config_.crawl.state_dir, leases + leases / 4 + 16);
  if (!crashes) return tl::unexpected(crashes.error());
  crashes_ = std::move(*crashes);
  for (const std::string& warning : crashes_->warnings())
    spdlog::warn("{}", warning);
  if (at_open_.held == 0) return {};
  // URLs that an earlier run put off are queued again; the guard decides when they are leased.
  const auto queued = frontier_->retry(
      {.state = SetAsideState::kHeld, .reason = std::string(CrashLoopBreaker::kSuspect)});
  return queued ? Result<void>{} : tl::unexpected(queued.error());
}

Result<void> CrawlImpl::close_former_files() const {
  auto saved = last_run_path(config_.crawl.state_dir);
  if (!std::filesystem::exists(saved)) saved = saved_config_path(config_.crawl.state_dir);
  if (!std::filesystem::exists(saved)) return {};
  const auto former = load_config(saved);
  if (!former) {
    spdlog::warn(
        "cannot read {}: WARC files that a crash left open under an earlier output.warc_prefix "
        "are not repaired",
        saved.string());
    return {};
  }
  const auto is_same = [](const std::filesystem::path& one, const std::filesystem::path& other) {
    std::error_code error;
    return std::filesystem::equivalent(one, other, error);
  };
  // A copy of the directory must not touch the files of the original.
  if (!former->output.warc || !is_same(former->crawl.state_dir, config_.crawl.state_dir)) return {};
  const auto directory = output_directory(*former);
  const bool same = config_.output.warc && is_same(directory, output_directory(config_)) &&
                    warc_prefix(*former) == warc_prefix(config_);
  if (same || !std::filesystem::exists(directory)) return {};
  const auto repairs = Output::repair_records(*former, directory);
  if (!repairs) return tl::unexpected(repairs.error());
  for (const std::string& repair : *repairs)
    spdlog::warn("{}", repair);
  return {};
}

Result<void> CrawlImpl::plan_recrawls() {
  constexpr std::size_t kBatch = 1000;
  auto plan = RecrawlPlan::open(config_.crawl.state_dir, output_->pages_path(), rules_->recrawl);
  if (!plan) return tl::unexpected(plan.error());
  for (;;) {
    const auto pages = plan->next(kBatch);
    if (!pages) return tl::unexpected(pages.error());
    if (pages->empty()) break;
    std::vector<std::string> notes;
    std::vector<UrlRequest> requests;
    notes.reserve(pages->size());
    for (const PlannedRecrawl& page : *pages) {
      notes.push_back(page.note.encode());
      requests.push_back({.url = page.url,
                          .depth = page.depth,
                          .parent = page.parent,
                          .not_before = page.not_before,
                          .note = notes.back(),
                          .again = true});
    }
    if (auto offered = frontier_->offer(requests); !offered) return tl::unexpected(offered.error());
    if (auto committed = plan->commit(); !committed) return committed;
  }
  if (plan->planned() > 0)
    spdlog::info("{} pages are scheduled to be fetched again", plan->planned());
  if (plan->damaged_lines() > 0)
    spdlog::warn("{} lines of {} are damaged: their pages are not fetched again",
                 plan->damaged_lines(), output_->pages_path());
  return {};
}

// A shared frontier owns nothing yet: see settles_buckets().
Result<void> CrawlImpl::offer_held() {
  if (!opened_.resumed || is_shared()) return {};
  const FrontierStats& stats = at_open_;
  if (stats.not_set_aside > 0) {
    spdlog::warn(
        "{} failed or excluded URLs were not kept, since frontier.max_set_aside = {} was "
        "reached: if rules now allow them, they are found again only when the pages that link to "
        "them are fetched again (--fresh or [recrawl])",
        stats.not_set_aside, config_.frontier.max_set_aside);
  }
  if (stats.held == 0) return {};
  const auto queued = retry_held_urls(*frontier_, config_, *rules_, urls_of_hosts_);
  if (!queued) return tl::unexpected(queued.error());
  if (*queued > 0) spdlog::info("queued {} URLs that rules of an earlier run excluded", *queued);
  return {};
}

Result<void> CrawlImpl::open_tally() {
  auto stored =
      StoredTally::read(config_.crawl.state_dir, output_directory(config_) / "pages.jsonl");
  if (!stored) return tl::unexpected(stored.error());
  for (const std::string& warning : stored->warnings)
    spdlog::warn("{}", warning);
  history_.emplace(std::move(stored->history), stored->history_interval);
  tally_.emplace(std::move(stored->tally));
  stored_before_ = {.skipped = std::move(stored->skipped),
                    .peak_memory = stored->peak_memory,
                    .elapsed_ms = stored->elapsed_ms};
  return {};
}

Result<void> CrawlImpl::create_fetchers() {
  const std::size_t kept = connections_kept(config_.fetch.connections, threads_wanted_);
  for (std::uint32_t i = 0; i < threads_wanted_; ++i) {
    HttpOptions options = http_options(config_, kept, bodies_, receive_rate_);
    options.capture = output_->sinks().inputs().exchanges;
    options.resolver.keep_records = options.capture;
    options.cookies = cookies_;
    auto fetcher = Fetcher::create(*context_, i, std::move(options));
    if (!fetcher) return tl::unexpected(fetcher.error());
    fetchers_.push_back(std::move(*fetcher));
  }
  return {};
}

Result<void> CrawlImpl::offer_seeds() {
  const StartRequests start(*rules_, config_.crawl);
  const auto admissions = frontier_->offer(start.requests());
  if (!admissions) return tl::unexpected(admissions.error());
  for (std::size_t i = 0; i < seeds_.size(); ++i) {
    urls_of_hosts_.note(politeness_group(seeds_[i]), seeds_[i].href_without_fragment(),
                        (*admissions)[i]);
  }
  return {};
}

Result<std::unique_ptr<Crawl>> Crawl::open(const CrawlConfig& config, const CrawlOpening& opening) {
  // Sets the default log, which must not happen once there are threads.
  static_cast<void>(room_log(LogRoom::kCrawl));
  const ResumedConfig resumed = resolve_resumed_config(
      config, opening.saved == nullptr ? config : *opening.saved, opening.mode);
  for (const std::string& warning : resumed.warnings)
    spdlog::warn("{}", warning);
  auto crawl = std::make_unique<CrawlImpl>(resumed, config);
  if (auto opened = crawl->open(opening); !opened) return tl::unexpected(opened.error());
  return crawl;
}

Result<void> check_crawl(const CrawlConfig& config) {
  if (auto fits = check_descriptors(config.fetch.connections); !fits) return fits;
  if (const auto rules = CrawlRules::create(config, parse_seeds(config)); !rules)
    return tl::unexpected(rules.error());
  if (const auto cookies = cookies_to_import(config); !cookies)
    return tl::unexpected(cookies.error());
  const auto bodies = std::make_shared<BodyMemoryBudget>(config.fetch.max_memory);
  const auto client = HttpClient::create(http_options(config, 1, bodies, nullptr));
  return client ? Result<void>{} : tl::unexpected(client.error());
}

}  // namespace trawl
