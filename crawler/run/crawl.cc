// A crawl from opening to closing. open() makes everything in an order that a crash may interrupt
// anywhere: the frontier first, since it locks the state directory; then the output, whose files
// are repaired before anything can be completed; then the fetchers. start() runs one Fetcher per
// thread; they share a CrawlContext and nothing else.
//
// The caller polls ended() from one thread. It decides when nothing is left to do, and queues work
// that was put off until then: URLs of held origins, and URLs that may have crashed the crawl,
// which are fetched alone. close() drains in the order that keeps N3: the fetchers end, the output
// is written and synced, which completes the leases of its pages, and only then does the frontier
// write its last checkpoint.
#include "crawler/run/crawl.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include "trawl/url_groups.h"

#include "base/mutex.h"
#include "base/one_thread.h"
#include "base/process_memory.h"
#include "crawler/config/config_values.h"
#include "crawler/config/cookies_file.h"
#include "crawler/config/crawl_paths.h"
#include "crawler/config/user_agent.h"
#include "crawler/decide/fetch_memory_plan.h"
#include "crawler/decide/host_pace.h"
#include "crawler/decide/page_quota.h"
#include "crawler/decide/recrawl_plan.h"
#include "crawler/http/site_cookies.h"
#include "crawler/log/room_log.h"
#include "crawler/output/output.h"
#include "crawler/run/crawl_steering.h"
#include "crawler/run/fetcher.h"
#include "crawler/run/held_url_requeuer.h"
#include "crawler/run/held_urls.h"
#include "crawler/run/retrying_frontier.h"
#include "crawler/run/start_requests.h"
#include "crawler/state/crawl_totals.h"
#include "crawler/state/free_space_guard.h"
#include "crawler/state/output_checks.h"
#include "crawler/state/resumed_config.h"
#include "crawler/state/state_contents.h"
#include "crawler/tally/stored_tally.h"

namespace trawl {

namespace {

std::vector<Url> parse_seeds(const CrawlConfig& config) {
  std::vector<Url> seeds;
  for (const std::string& seed : config.crawl.seeds) {
    // The config was validated: seeds that do not parse were reported there.
    if (auto url = Url::parse(seed)) seeds.push_back(std::move(*url));
  }
  return seeds;
}

std::uint32_t most_connections_of_a_host(const CrawlConfig::Politeness& politeness) {
  std::uint32_t most = politeness.per_host_connections;
  for (const HostPolitenessText& host : politeness.hosts)
    most = std::max(most, host.connections.value_or(0));
  return most;
}

HttpOptions http_options(const CrawlConfig& config, std::size_t connections,
                         std::shared_ptr<BodyMemoryBudget> bodies,
                         std::shared_ptr<RateLimiter> rate) {
  const CrawlConfig::Fetch& fetch = config.fetch;
  return {.user_agent = config.crawl.user_agent,
          .timeout = fetch.timeout,
          .connect_timeout = fetch.connect_timeout,
          .first_byte_timeout = fetch.first_byte_timeout,
          .min_speed = fetch.min_speed,
          .min_speed_time = fetch.min_speed_time,
          .max_header_bytes = fetch.max_header,
          .connections = connections,
          .http2 = fetch.http2,
          .multiplex = most_connections_of_a_host(config.politeness) > 1,
          .keep_encoded = true,  // digests are of them
          .allow_private_addresses = fetch.allow_private_addresses,
          .verify_tls = fetch.verify_tls,
          .ca_file = fetch.ca_file,
          .resolver = {.servers = fetch.dns_servers,
                       .timeout = fetch.dns_timeout,
                       .negative_age = fetch.dns_negative_age,
                       .ip_version = fetch.ip_version},
          .budget = std::move(bodies),
          .rate = std::move(rate)};
}

// Of fetch.cookies_file. A crawl that was begun with it has its cookies, and goes on without it.
Result<CookiesFile> cookies_to_import(const CrawlConfig& config) {
  const auto& file = config.fetch.cookies_file;
  if (file.empty()) return CookiesFile();
  std::error_code error;
  if (!std::filesystem::exists(file, error) &&
      std::filesystem::exists(SiteCookies::path(config.crawl.state_dir), error)) {
    room_log(LogRoom::kHttp)
        .warn("fetch.cookies_file: {} is gone; the cookies of earlier runs are used",
              file.string());
    return CookiesFile();
  }
  auto read = read_cookies_file(file);
  if (read) return *std::move(read);
  const FileErrors& errors = read.error();
  std::string message = errors.listed.front().to_string();
  if (const std::size_t more = errors.listed.size() - 1 + errors.unlisted; more > 0)
    message += fmt::format(" (and {} more errors: trawl check-config lists them)", more);
  return tl::unexpected(Error{ErrorCode::kInvalidArgument, std::move(message)});
}

// File descriptors of the store, the output and all else; each connection takes one more.
constexpr rlim_t kForTheRest = 128;

Result<void> check_descriptors(std::uint32_t connections) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= connections + kForTheRest) return {};
  return error(ErrorCode::kInvalidArgument,
               fmt::format("fetch.connections = {} needs {} open files, but the limit is {}: lower "
                           "fetch.connections, or raise the limit with ulimit -n",
                           connections, connections + kForTheRest, limit.rlim_cur));
}

// A few more leases than connections: a lease stays open until its completion is durable, but its
// connection is free before.
std::uint32_t most_leases(std::uint32_t connections) {
  return connections + std::max<std::uint32_t>(connections / 16, 16);
}

// How long open() waits for a frontier that is out of reach.
constexpr std::chrono::seconds kOpeningTimeout(10);

// Idle connections that are kept in all, if the requests in progress are fewer: another handshake
// costs more than several pages, and an idle connection with TLS takes some 25 KiB.
constexpr std::size_t kMostIdle = 1024;

// How many connections a thread keeps for later requests, within the limit of open files.
std::size_t connections_kept(std::size_t connections, std::size_t threads) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return connections;
  const std::size_t used = connections + kForTheRest;
  const std::size_t left = limit.rlim_cur - std::min<std::size_t>(used, limit.rlim_cur);
  return std::clamp<std::size_t>(left / threads, 1, std::max(connections, kMostIdle / threads));
}

class CrawlImpl final : public Crawl {
 public:
  CrawlImpl(const ResumedConfig& resumed, const CrawlConfig& read)
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

  ~CrawlImpl() override {
    abort();
    join();
    // Its writer completes leases, so it ends before the frontier does.
    output_.reset();
  }

  Result<void> open(const CrawlOpening& opening) {
    if (auto fits = check_descriptors(config_.fetch.connections); !fits) return fits;
    const auto imported = cookies_to_import(config_);
    if (!imported) return tl::unexpected(imported.error());
    if (auto made = make_rules(); !made) return made;
    if (auto usable = check_places(opening); !usable) return usable;
    if (auto opened = open_frontier(opening); !opened) return opened;
    // After the directory is locked, and before anything can be completed.
    if (auto closed = close_former_files(); !closed) return closed;
    const bool sync = config_.frontier.durability == Durability::kSync;
    if (auto read = open_tally(); !read) return read;
    auto output = Output::open(config_, output_directory(config_), config_.crawl.state_dir, sync,
                               opening.sinks, tally_target());
    if (!output) return tl::unexpected(output.error());
    output_ = std::move(*output);
    auto known = KnownBodies::open(config_, output_->sinks().inputs().exchanges);
    if (!known) return tl::unexpected(known.error());
    known_bodies_ = *std::move(known);
    if (auto saved = save_configs(config_, saved_); !saved) return saved;
    begin_cookies(*imported);
    if (auto begun = seed_redirects_->begin(config_.crawl.state_dir, opened_.resumed); !begun)
      return begun;
    if (auto counted = urls_of_hosts_.start(*frontier_); !counted) return counted;
    auto patterns = ParkedPatterns::open(config_.crawl.state_dir, opened_.resumed,
                                         config_.scope.park_pattern_after);
    if (!patterns) return tl::unexpected(patterns.error());
    parked_patterns_ = std::move(*patterns);
    if (auto changed = HostPageQuota::begin(*frontier_, opened_.resumed, config_.crawl.state_dir,
                                            LimitByHost::pages(config_));
        !changed) {
      return changed;
    }
    if (auto changed = HostPace::begin(*frontier_, opened_.resumed, config_.crawl.state_dir,
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
    pages_.emplace(config_.scope.max_pages, at_open_.completed - at_open_.skipped);
    totals_.emplace(config_.crawl.state_dir);
    if (auto guarded = open_crash_guard(); !guarded) return guarded;
    before_ = totals_->read();
    limits_.emplace(config_.scope.max_bytes, config_.scope.max_time,
                    std::chrono::steady_clock::now(), before_.bytes);
    shares_.emplace(config_.fetch.connections, threads_wanted_,
                    [this](std::size_t thread) { wake(static_cast<std::uint32_t>(thread)); });
    unread_pages_.emplace(threads_wanted_,
                          [this](std::size_t thread) { wake(static_cast<std::uint32_t>(thread)); });
    context_.reset(new CrawlContext{config_,
                                    *rules_,
                                    *frontier_,
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
                                    opened_.resumed,
                                    trusts_less_});
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

  Result<std::uint64_t> retry_failed() override {
    return frontier_->retry({.state = SetAsideState::kFailed});
  }

  void start() override {
    started_ = std::chrono::steady_clock::now();
    // Not in open(): retry_failed() may have queued some of them in between.
    const auto planned = plan_failed_urls(*frontier_, rules_->recrawl);
    if (!planned) return context_->stop_with(planned.error());
    if (*planned > 0) spdlog::info("{} failed URLs are scheduled to be fetched again", *planned);
    check_free_space();
    // release: publishes what open() made; pairs with the acquire load in on_checkpoint().
    running_.store(true, std::memory_order_release);
    try {
      for (const auto& fetcher : fetchers_) {
        threads_.emplace_back([fetcher = fetcher.get()] {
          const AlternateSignalStack stack;
          fetcher->run();
        });
      }
    } catch (const std::system_error& error) {
      context_->stop_with({ErrorCode::kNoSpace,
                           fmt::format("cannot start {} fetcher threads: {}; lower fetch.threads",
                                       fetchers_.size(), error.code().message())});
    }
  }

  bool ended() override {
    thread_.check();
    check_free_space();
    sample_history();
    save_totals();
    context_->host_troubles.log_left_out();
    const CrawlPhase phase = context_->phase();
    if (phase == CrawlPhase::kAborting) return true;
    // More may be offered meanwhile.
    if (phase == CrawlPhase::kRunning && (context_->paused() || steering_->is_reloading()))
      return false;
    const bool begins_more = phase == CrawlPhase::kRunning && !reached_max_pages();
    if (begins_more && offers_held(false)) return false;
    // acquire: what ended the leases is seen; pairs with the release in Fetcher::lease_ended().
    if (context_->in_flight.load(std::memory_order_acquire) > 0) return false;
    if (phase == CrawlPhase::kDraining || reached_max_pages()) return true;
    const Progress how_far = frontier_progress();
    if (!how_far.at_end() || offers_held(true) || fetch_suspect()) return false;
    if (how_far.only_recrawls_wait && !ends_before_recrawls(how_far)) return false;
    progress_at_end_ = how_far;
    return true;
  }
  CrawlEnd why_ended() const override {
    if (context_->failure()) return CrawlEnd::kStopped;
    // What ended the crawl still counts if the frontier is out of reach by now.
    const Progress how_far = progress_at_end_ ? *progress_at_end_ : frontier_progress();
    if (how_far.finished) return CrawlEnd::kFinished;
    if (reached_limit()) return CrawlEnd::kLimit;
    if (context_->phase() != CrawlPhase::kRunning) return CrawlEnd::kStopped;
    return ends_before_recrawls(how_far) ? CrawlEnd::kRecrawlsWait : CrawlEnd::kExhausted;
  }

  void drain() override { advance_to(CrawlPhase::kDraining); }
  void abort() override { advance_to(CrawlPhase::kAborting); }

  void request_checkpoint() override {
    checkpoint_asked_for_.store(true, std::memory_order_relaxed);
    const auto asked = without_retries_->request_checkpoint();
    if (RetryingFrontier::is_out_of_reach(asked)) {
      room_log(LogRoom::kFrontier).warn("no checkpoint written: {}", asked.error().message);
    } else if (!asked) {
      context_->stop_with(asked.error());
    }
  }

  Result<void> close() override {
    drain();
    join();
    warn_of_full_set_aside();
    if (auto offered = held_url_requeuer_->stop(); !offered) context_->stop_with(offered.error());
    // Writing a page completes its lease.
    if (auto written = output_->flush(); !written) context_->stop_with(written.error());
    auto closed = frontier_->close();
    if (auto saved = totals_->write(totals_now()); closed && !saved) closed = saved;
    if (auto saved = cookies_->save(config_.crawl.state_dir); closed && !saved) closed = saved;
    // After the last completion.
    if (auto written = output_->close(); closed && !written) closed = written;
    if (auto ended = crashes_->close(); closed && !ended) closed = ended;
    if (const auto failure = context_->failure()) return tl::unexpected(*failure);
    return closed;
  }

  CrawlProgress progress() const override {
    CrawlProgress progress;
    progress.frontier = stats();
    const std::uint64_t done = progress.frontier.completed - progress.frontier.skipped;
    const std::uint64_t done_now = done - (at_open_.completed - at_open_.skipped);
    // Counted shortly before the completion, hence min() below.
    progress.truncated = totals_now().truncated;
    progress.fetched = done - std::min(done, progress.truncated);
    progress.fetched_now = done_now - std::min(done_now, fetches_.truncated());
    progress.in_flight = context_->in_flight.load(std::memory_order_relaxed);
    progress.bodies_memory = bodies_->used();
    const auto now = std::chrono::steady_clock::now();
    progress.elapsed = now - started_;
    progress.next_start = progress.frontier.next_turn;
    note_limits(progress, now);
    return progress;
  }
  const SkipCounts& skipped() const override { return skipped_; }
  std::map<std::string, std::uint64_t> skipped_in_all() const override {
    auto skipped = stored_before_.skipped;
    for (std::size_t i = 0; i < kSkipReasons; ++i) {
      const auto reason = static_cast<SkipReason>(i);
      if (const auto n = skipped_[reason]; n > 0) skipped[std::string(to_string(reason))] += n;
    }
    return skipped;
  }
  const FetchCounts& fetches() const override { return fetches_; }
  const CrawlTally& tally() const override { return *tally_; }
  const CrawlHistory& history() const override { return *history_; }
  const OpenReport& opened() const override { return opened_; }
  bool ends_before_recrawls(const Progress& how_far) const {
    return !config_.recrawl.wait && how_far.only_recrawls_wait;
  }
  bool reached_max_pages() const { return pages_->used_up(); }
  std::optional<CrawlLimit> reached_limit() const override {
    if (reached_max_pages()) return CrawlLimit::kPages;
    return limits_->reached(std::chrono::steady_clock::now());
  }
  std::optional<std::string> incomplete() const override {
    const FrontierStats stats = this->stats();
    const std::string example = context_->failed_fetch();
    const std::string first =
        example.empty() ? "" : fmt::format("; the first failure: {}", example);
    if (stats.succeeded == 0) return "no page was fetched with a status of 2xx" + first;
    if (has_parked_queue(stats)) {
      return fmt::format("{} host{} parked with URLs queued, {} in all{}", stats.hosts_parked,
                         stats.hosts_parked == 1 ? " is" : "s are", stats.queued, first);
    }
    if (const auto held = incomplete_origins()) return held;
    if (stats.seeds_succeeded == 0 && !seeds_.empty())
      return "no seed was fetched with a status of 2xx" + first;
    return std::nullopt;
  }
  bool has_parked_hosts() const override {
    return has_parked_queue(stats()) || context_->held_origins.count() > 0;
  }
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
  Result<OfferReport> offer(std::span<const OfferedUrl> urls) override {
    return steering_->offer(urls);
  }
  Result<ReloadReport> reload(const CrawlConfig& config) override {
    return steering_->reload({.config = config, .saved = config});
  }
  Result<ReloadReport> reload() override {
    if (!reread_)
      return error(ErrorCode::kInvalidArgument, "this crawl has no config to read again");
    const auto read = reread_();
    return read ? steering_->reload(*read) : tl::unexpected(read.error());
  }
  CrawlConfig config() const override { return steering_->config(); }
  void with_rules(
      const std::function<void(const CrawlConfig&, const CrawlRules&)>& use) const override {
    steering_->with_rules(use);
  }
  std::string state_dir() const override { return config_.crawl.state_dir.string(); }
  Result<std::vector<HostRow>> hosts(HostOrder order, std::size_t limit) const override {
    return steering_->hosts(order, limit);
  }
  Result<HostRow> host(const std::string& name) const override { return steering_->host(name); }
  Result<void> set_host(const std::string& name, const HostSettings& settings) override {
    return steering_->set_host(name, settings);
  }
  Result<void> block_host(const std::string& name, std::optional<SystemTime> until) override {
    return steering_->block_host(name, until);
  }
  Result<void> unblock_host(const std::string& name) override {
    return steering_->unblock_host(name);
  }
  Result<std::uint64_t> drop_host(const std::string& name) override {
    return steering_->drop_host(name);
  }
  Result<UrlState> lookup(const std::string& url) override { return without_retries_->lookup(url); }
  std::optional<CheckpointInfo> last_checkpoint() const override {
    const MutexLock lock(last_stats_mutex_);
    return last_checkpoint_;
  }

 private:
  // The last known counts if the frontier is out of reach: progress reports must not wait.
  FrontierStats stats() const {
    auto stats = without_retries_->stats();
    const MutexLock lock(last_stats_mutex_);
    if (stats) last_stats_ = *std::move(stats);
    return last_stats_;
  }
  void note_limits(CrawlProgress& progress, std::chrono::steady_clock::time_point now) const {
    const auto left = [](std::uint64_t limit, std::uint64_t used) {
      return limit - std::min(limit, used);
    };
    // Not from the config, which a reload may change at this moment.
    if (const auto most = pages_->limit())
      progress.pages_left = left(*most, progress.fetched + progress.truncated);
    if (const auto most = limits_->max_bytes()) progress.bytes_left = left(*most, limits_->bytes());
    if (const auto end = limits_->end())
      progress.time_left = std::max(*end - now, std::chrono::steady_clock::duration{0});
  }

  // An unknown progress is not the end.
  Progress frontier_progress() const {
    const auto progress = frontier_->progress();
    return progress ? *progress : Progress{};
  }

  static bool has_parked_queue(const FrontierStats& stats) {
    return stats.hosts_parked > 0 && stats.queued > 0;
  }

  std::optional<std::string> incomplete_origins() const {
    const std::size_t count = context_->held_origins.count();
    if (count == 0) return std::nullopt;
    const auto [origin, why] = context_->held_origins.example();
    const std::string others = count > 1 ? fmt::format(" and {} more", count - 1) : "";
    return scrubbed(fmt::format("the URLs of {}{} are held: {}", origin, others, why));
  }

  // Checked before anything is created, so that an error leaves no incomplete crawl behind.
  Result<void> check_places(const CrawlOpening& opening) const {
    const auto contents = inspect_state(config_);
    if (!contents) return tl::unexpected(contents.error());
    if (*contents == StateContents::kCrawl || opening.mode == OpenMode::kResume) return {};
    return check_output_is_free(config_, opening.sinks);
  }

  Result<void> make_rules() {
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

  Result<void> open_frontier(const CrawlOpening& opening) {
    auto options = frontier_options_of(config_);
    if (!options) return tl::unexpected(options.error());
    options->mode = opening.mode;
    options->store.shards = threads_wanted_;
    options->seen.replace_profile = opening.replace_profile;
    options->revive_hosts = true;  // each run tries parked hosts again
    options->checkpoints.on_taken = [this](const CheckpointEvent& event) { on_checkpoint(event); };
    auto frontier = opening.frontier(*options, &opened_);
    if (!frontier) return tl::unexpected(frontier.error());
    const auto opened_at = std::chrono::steady_clock::now();
    auto retrying = std::make_unique<RetryingFrontier>(std::move(*frontier), [this, opened_at] {
      // acquire: pairs with the store in start().
      if (running_.load(std::memory_order_acquire))
        return context_->phase() == CrawlPhase::kAborting;
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

  // Room for the transfers of all leases, and for completions that became durable just now.
  Result<void> open_crash_guard() {
    const std::uint32_t leases = most_leases(config_.fetch.connections);
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

  // True while URLs of held origins are being queued again. `idle`: nothing else is left to fetch.
  bool offers_held(bool idle) {
    const auto at_work = held_url_requeuer_->run_step(idle);
    if (!at_work) context_->stop_with(at_work.error());
    return at_work && *at_work;
  }

  // Called when nothing else is left: queues the next URL that was put off because it may crash the
  // crawl. Returns false if there is none.
  bool fetch_suspect() {
    if (!crashes_->has_put_off()) return false;
    // Waits until every in-flight entry is removed; a completion may be durable before that.
    if (crashes_->in_flight() > 0) return true;
    // The calls below would wait for the frontier, and could not be interrupted.
    if (RetryingFrontier::is_out_of_reach(without_retries_->progress())) return true;
    const CrashLoopBreaker::Next next = crashes_->next_put_off();
    if (next.leased.empty()) return false;
    if (next.alone)
      spdlog::info("{}: fetching it alone, since it was in flight at two crashes",
                   next.leased.front());
    for (const std::string& url : next.leased) {
      const auto queued = frontier_->retry({.state = SetAsideState::kHeld,
                                            .key = url,
                                            .reason = std::string(CrashLoopBreaker::kSuspect)});
      if (queued) continue;
      context_->stop_with(queued.error());
      return false;
    }
    return true;
  }

  // Repairs WARC files that a crash left open under a name that the config no longer gives. Called
  // before the output is opened, since both lock the files of their prefix.
  Result<void> close_former_files() const {
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
    if (!former->output.warc || !is_same(former->crawl.state_dir, config_.crawl.state_dir))
      return {};
    const auto directory = output_directory(*former);
    const bool same = config_.output.warc && is_same(directory, output_directory(config_)) &&
                      former->output.warc_prefix == config_.output.warc_prefix;
    if (same || !std::filesystem::exists(directory)) return {};
    const auto repairs = Output::repair_records(*former, directory);
    if (!repairs) return tl::unexpected(repairs.error());
    for (const std::string& repair : *repairs)
      spdlog::warn("{}", repair);
    return {};
  }

  // Schedules recrawls of pages that were fetched before [recrawl] was set.
  Result<void> plan_recrawls() {
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
      if (auto offered = frontier_->offer(requests); !offered)
        return tl::unexpected(offered.error());
      if (auto committed = plan->commit(); !committed) return committed;
    }
    if (plan->planned() > 0)
      spdlog::info("{} pages are scheduled to be fetched again", plan->planned());
    if (plan->damaged_lines() > 0)
      spdlog::warn("{} lines of {} are damaged: their pages are not fetched again",
                   plan->damaged_lines(), output_->pages_path());
    return {};
  }

  // Queues URLs that rules of an earlier run excluded and those of this run allow.
  Result<void> offer_held() {
    if (!opened_.resumed) return {};
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

  // What earlier runs did.
  Result<void> open_tally() {
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

  TallyTarget tally_target() {
    return {.tally = &*tally_, .save = [this](std::uint64_t offset) { store_tally(offset); }};
  }

  // A failure does not stop the crawl: the lines of pages.jsonl are counted again at the next
  // start.
  void store_tally(std::uint64_t offset) const {
    StoredTally stored{.tally = tally_->snapshot(),
                       .history = history_->samples(),
                       .history_interval = history_->interval(),
                       .skipped = skipped_in_all(),
                       .peak_memory = std::max(stored_before_.peak_memory, peak_memory()),
                       .elapsed_ms = stored_before_.elapsed_ms + run_ms()};
    stored.tally.offset = offset;
    if (const auto written = stored.write(config_.crawl.state_dir); !written)
      spdlog::warn("{}", written.error().message);
  }

  std::uint64_t run_ms() const {
    if (started_ == std::chrono::steady_clock::time_point{}) return 0;
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                          std::chrono::steady_clock::now() - started_)
                                          .count());
  }

  // Each minute, and after a checkpoint. A failure does not stop the crawl: only totals are lost.
  void save_totals() {
    const auto now = std::chrono::steady_clock::now();
    if (!totals_due_.exchange(false, std::memory_order_relaxed) &&
        now - totals_saved_ < std::chrono::minutes(1)) {
      return;
    }
    totals_saved_ = now;
    warn_of_full_set_aside();
    if (const auto saved = totals_->write(totals_now()); !saved)
      spdlog::warn("{}", saved.error().message);
    if (const auto saved = cookies_->save(config_.crawl.state_dir); !saved)
      spdlog::warn("{}", saved.error().message);
  }

  void sample_history() {
    const auto now =
        std::chrono::time_point_cast<SystemTime::duration>(std::chrono::system_clock::now());
    if (!history_->is_due(now)) return;
    const CrawlProgress progress = this->progress();
    const TallyTotals totals = tally_->totals();
    history_->add({.time = now,
                   .pages = totals.lines,
                   .bytes = totals.bytes(),
                   .queued = progress.frontier.queued,
                   .seen = progress.frontier.seen,
                   .failed = totals.failed,
                   .in_flight = progress.in_flight,
                   .memory = resident_memory()});
  }

  Result<void> create_fetchers() {
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

  // The cookies of earlier runs, unless the user's file is newer than they are.
  void begin_cookies(const CookiesFile& imported) {
    const auto& file = config_.fetch.cookies_file;
    const auto& state = config_.crawl.state_dir;
    std::error_code none, gone;
    const auto stored = std::filesystem::last_write_time(SiteCookies::path(state), none);
    const auto given = std::filesystem::last_write_time(file, gone);
    if (!none) cookies_->load(state);
    // Sessions are secrets, as the cookies of the user's file are.
    CookiesFile sessions;
    for (const LoginText& login : config_.fetch.logins)
      sessions.sites.push_back({.site = std::string(cookie_site(login.host)), .lines = {}});
    cookies_->import(sessions);
    cookies_->import(imported);
    if (!none && !gone && given <= stored) cookies_->load(state);
    if (imported.cookies == 0 && imported.expired == 0) return;
    room_log(LogRoom::kHttp)
        .info("{}: {} cookies of {} sites{}", file.string(), imported.cookies,
              imported.sites.size(),
              imported.expired > 0 ? fmt::format("; {} have expired", imported.expired) : "");
  }

  Result<void> offer_seeds() {
    const StartRequests start(*rules_, config_.crawl);
    const auto admissions = frontier_->offer(start.requests());
    if (!admissions) return tl::unexpected(admissions.error());
    for (std::size_t i = 0; i < seeds_.size(); ++i) {
      urls_of_hosts_.note(politeness_group(seeds_[i]), seeds_[i].href_without_fragment(),
                          (*admissions)[i]);
    }
    return {};
  }

  // output.min_free: pauses, goes on, or ends the crawl before a disk is full.
  void check_free_space() {
    if (context_->phase() != CrawlPhase::kRunning) return;
    switch (free_space_.check(std::chrono::steady_clock::now())) {
      case FreeSpaceGuard::Step::kNone:
        return;
      case FreeSpaceGuard::Step::kPause:
        context_->set_paused(PauseReason::kDiskFull, true);
        room_log(LogRoom::kOutput)
            .warn("{}: the crawl pauses until there is more, for {} at most", free_space_.what(),
                  format_duration(config_.output.min_free_wait));
        return;
      case FreeSpaceGuard::Step::kGoOn:
        context_->set_paused(PauseReason::kDiskFull, false);
        room_log(LogRoom::kOutput).info("there is enough free space again: the crawl goes on");
        wake_all();
        return;
      case FreeSpaceGuard::Step::kGiveUp:
        context_->stop_with({ErrorCode::kNoSpace, free_space_.what()});
        return;
    }
  }

  void wake(std::uint32_t shard) {
    // Seeds are offered before the threads start; the threads look for work when they start.
    if (shard < fetchers_.size()) fetchers_[shard]->wake();
  }

  void advance_to(CrawlPhase phase) {
    if (!context_) return;
    context_->advance_to(phase);
    // Wakes all even if the phase was set before: the thread that set it may not have woken them.
    wake_all();
  }

  void wake_all() {
    for (const auto& fetcher : fetchers_)
      fetcher->wake();
  }

  // Runs on the frontier's checkpoint thread, perhaps before open() has returned.
  void on_checkpoint(const CheckpointEvent& event) {
    const bool asked_for = checkpoint_asked_for_.exchange(false, std::memory_order_relaxed);
    // acquire: pairs with the store in start().
    const bool running = running_.load(std::memory_order_acquire);
    if (running) warn_of_full_set_aside();
    if (!event.written) {
      room_log(LogRoom::kFrontier)
          .info("no checkpoint written: no URL was queued since the last one");
    } else if (event.result) {
      note_checkpoint(event);
      totals_due_.store(true, std::memory_order_relaxed);
      room_log(LogRoom::kFrontier)
          .log(asked_for ? spdlog::level::info : spdlog::level::debug,
               "checkpoint published in {:.3f} s",
               std::chrono::duration<double>(event.took).count());
    } else if (running) {
      context_->stop_with(event.result.error());
    } else {
      spdlog::warn("{}", event.result.error().message);  // fatal only if a later one fails too
    }
  }

  void note_checkpoint(const CheckpointEvent& event) {
    const MutexLock lock(last_stats_mutex_);
    last_checkpoint_ = {.ended = std::chrono::system_clock::now(),
                        .took = std::chrono::duration_cast<std::chrono::milliseconds>(event.took)};
  }

  CrawlTotals::Totals totals_now() const {
    return {.bytes = limits_->bytes(), .truncated = before_.truncated + fetches_.truncated()};
  }

  // Warns once when there is no more room for URLs set aside.
  void warn_of_full_set_aside() {
    if (set_aside_full_.load(std::memory_order_relaxed) ||
        stats().not_set_aside == at_open_.not_set_aside) {
      return;
    }
    set_aside_full_.store(true, std::memory_order_relaxed);
    spdlog::warn(
        "frontier.max_set_aside = {} is reached: further failed or excluded URLs are counted, but "
        "not kept for a later run",
        config_.frontier.max_set_aside);
  }

  void join() {
    for (auto& thread : threads_)
      thread.join();
    threads_.clear();
  }

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
  std::vector<std::thread> threads_;
  std::optional<CrawlSteering> steering_;
  std::function<Result<ReadConfig>()> reread_;
  std::optional<HeldUrlRequeuer> held_url_requeuer_;  // its thread uses the members above
};

}  // namespace

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

Result<EmbeddedOptions> frontier_options_of(const CrawlConfig& config) {
  auto profile = Profile::from_text(config.url.text, config.url.hosts);
  if (!profile) return tl::unexpected(profile.error());
  EmbeddedOptions options;
  options.directory = config.crawl.state_dir;
  options.seen.expected_urls = config.filter.expected_urls;
  options.seen.false_positive_rate = config.filter.false_positive_rate;
  options.seen.max_memory = config.filter.max_memory.value_or(0);
  options.seen.mode = config.filter.mode;
  options.seen.ledger = config.frontier.ledger;
  options.store.max_memory = config.frontier.max_memory;
  options.store.durability = config.frontier.durability;
  options.politeness.delay = config.politeness.delay;
  options.politeness.domain_delay = config.politeness.domain_delay;
  options.politeness.ip_delay = config.politeness.ip_delay;
  options.politeness.adaptive_delay = config.politeness.adaptive_delay;
  options.politeness.max_adaptive_delay = config.politeness.max_adaptive_delay;
  options.politeness.leases_per_host = config.politeness.per_host_connections;
  options.retry.retries = config.politeness.retries;
  options.retry.retry_delay = config.politeness.retry_delay;
  options.retry.host_backoff = config.politeness.host_backoff;
  options.retry.max_host_backoff = config.politeness.max_host_backoff;
  options.retry.host_failures = config.politeness.host_failures;
  options.retry.park_time = config.politeness.park_time;
  options.store.max_set_aside = config.frontier.max_set_aside;
  options.limits.lease_timeout = kLeaseTimeout;
  options.limits.max_open_leases = most_leases(config.fetch.connections);
  options.limits.max_url_length = config.scope.max_url_length;
  options.checkpoints.keep = config.checkpoint.keep;
  options.checkpoints.max_replay = config.checkpoint.max_replay;
  options.checkpoints.interval = config.checkpoint.interval.value_or(std::chrono::milliseconds(0));
  options.checkpoints.admissions = config.checkpoint.admissions;
  options.checkpoints.max_rate = config.checkpoint.max_rate;
  options.seen.profile = std::move(*profile);
  return options;
}

}  // namespace trawl
