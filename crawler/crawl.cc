#include "crawler/crawl.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include "crawler/fetcher.h"
#include "crawler/http/private_address.h"
#include "crawler/page_budget.h"
#include "crawler/pages_writer.h"
#include "filter/file_io.h"

namespace trawl {

namespace {

std::vector<Url> parse_seeds(const CrawlConfig& config) {
  std::vector<Url> seeds;
  for (const std::string& seed : config.crawl.seeds) {
    // The config was validated: what does not parse is not there.
    if (auto url = Url::parse(seed)) seeds.push_back(std::move(*url));
  }
  return seeds;
}

HttpOptions http_options(const CrawlConfig& config, const std::vector<Url>& seeds,
                         std::size_t connections) {
  const bool private_seed =
      std::ranges::any_of(seeds, [](const Url& seed) { return is_private_host(seed.hostname()); });
  return {.user_agent = config.crawl.user_agent,
          .timeout = config.fetch.timeout,
          .connections = connections,
          .http2 = config.fetch.http2,
          .allow_private_addresses = config.fetch.allow_private_addresses.value_or(private_seed),
          .ca_file = config.fetch.ca_file};
}

// Each connection takes a descriptor; the store, the output and the rest some more.
Result<void> check_descriptors(std::uint32_t connections) {
  constexpr rlim_t kForTheRest = 128;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= connections + kForTheRest) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("fetch.connections = {} needs {} open files, but the limit is {}: lower "
                          "it, or raise the limit with ulimit -n",
                          connections, connections + kForTheRest, limit.rlim_cur));
}

class CrawlImpl final : public Crawl {
 public:
  explicit CrawlImpl(const CrawlConfig& config)
      : config_(config),
        seeds_(parse_seeds(config)),
        scope_(config.scope, seeds_),
        threads_wanted_(std::min(config.fetch.threads, config.fetch.connections)) {}

  ~CrawlImpl() override {
    abort();
    join();
  }

  Result<void> open(OpenMode mode, bool replace_profile) {
    if (auto fits = check_descriptors(config_.fetch.connections); !fits) return fits;
    if (auto usable = check_output(mode); !usable) return usable;
    auto profile = Profile::from_text(config_.url.text, config_.url.hosts);
    if (!profile) return tl::unexpected(profile.error());
    const FrontierOptions options{
        .directory = config_.crawl.state_dir,
        .mode = mode,
        .expected_urls = config_.filter.expected_urls,
        .false_positive_rate = config_.filter.false_positive_rate,
        .max_filter_memory = config_.filter.max_memory.value_or(0),
        .delay = config_.politeness.delay,
        .leases_per_host = config_.politeness.per_host_connections,
        .max_open_leases = config_.fetch.connections,
        .max_url_length = config_.scope.max_url_length,
        .shards = threads_wanted_,
        .durability = config_.frontier.durability == Durability::kSync ? FrontierDurability::kSync
                                                                       : FrontierDurability::kAsync,
        .checkpoints_kept = config_.checkpoint.keep,
        .profile = std::move(*profile),
        .replace_profile = replace_profile,
        .before_commit = [this](auto completions) { return pages_->append(completions); },
        .on_work = [this](std::uint32_t shard) { wake(shard); }};
    auto frontier = Frontier::open(options);
    if (!frontier) return tl::unexpected(frontier.error());
    frontier_ = std::move(*frontier);
    // Only now that the directory is locked, and before anything can be completed.
    auto pages = PagesWriter::open(output_directory(config_));
    if (!pages) return tl::unexpected(pages.error());
    pages_ = std::move(*pages);
    const std::string saved = saved_config_path(config_.crawl.state_dir).string();
    if (auto written = replace_file(saved, to_toml(config_)); !written) return written;

    at_open_ = frontier_->stats();
    budget_.emplace(config_.scope.max_pages, at_open_.completed - at_open_.skipped);
    context_.emplace(config_, *frontier_, scope_, *budget_, skipped_, config_.crawl.user_agent);
    if (auto created = create_fetchers(); !created) return created;
    return offer_seeds();
  }

  void start() override {
    started_ = std::chrono::steady_clock::now();
    try {
      for (const auto& fetcher : fetchers_) {
        threads_.emplace_back([fetcher = fetcher.get()] { fetcher->run(); });
      }
      checkpoints_ = std::thread([this] { take_checkpoints(); });
    } catch (const std::system_error& error) {
      context_->stop_with({ErrorCode::kNoSpace,
                           fmt::format("cannot start {} fetcher threads: {}; lower fetch.threads",
                                       fetchers_.size(), error.what())});
    }
  }

  bool ended() const override {
    const CrawlPhase phase = context_->phase();
    if (phase == CrawlPhase::kAborting) return true;
    if (context_->in_flight.load() > 0) return false;
    return phase == CrawlPhase::kDraining || finished() || reached_max_pages();
  }

  void drain() override { advance_to(CrawlPhase::kDraining); }
  void abort() override { advance_to(CrawlPhase::kAborting); }

  void request_checkpoint() override {
    const std::lock_guard lock(mutex_);
    checkpoint_wanted_ = true;
    changed_.notify_all();
  }

  Result<void> close() override {
    drain();
    join();
    const auto closed = frontier_->close();
    if (const auto failure = context_->failure()) return tl::unexpected(*failure);
    return closed;
  }

  CrawlProgress progress() const override {
    CrawlProgress progress;
    progress.frontier = frontier_->stats();
    progress.fetched = progress.frontier.completed - progress.frontier.skipped;
    progress.fetched_now = progress.fetched - (at_open_.completed - at_open_.skipped);
    progress.in_flight = context_->in_flight.load();
    progress.elapsed = std::chrono::steady_clock::now() - started_;
    return progress;
  }
  const SkipCounts& skipped() const override { return skipped_; }
  const OpenReport& opened() const override { return frontier_->opened(); }
  bool finished() const override { return frontier_->finished(); }
  bool reached_max_pages() const override { return budget_->used_up(); }
  std::optional<std::string> nothing_fetched() const override {
    if (context_->succeeded.load() > 0 || progress().fetched_now == 0) return std::nullopt;
    return context_->failed_fetch();
  }
  const std::string& pages_path() const override { return pages_->path(); }

 private:
  // Before anything is made, so that a mistake here leaves no half-made crawl behind.
  Result<void> check_output(OpenMode mode) const {
    if (mode != OpenMode::kCreate) return {};
    auto pages = PagesWriter::open(output_directory(config_));
    if (!pages) return tl::unexpected(pages.error());
    if (pages->size() > 0 && !std::filesystem::exists(config_.crawl.state_dir / "MANIFEST")) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} holds pages of another crawl: choose another output.directory, "
                              "or move the file away",
                              pages->path()));
    }
    return {};
  }

  Result<void> create_fetchers() {
    const std::uint32_t connections = config_.fetch.connections;
    for (std::uint32_t i = 0; i < threads_wanted_; ++i) {
      const std::size_t share = connections / threads_wanted_ + (i < connections % threads_wanted_);
      auto fetcher = Fetcher::create(*context_, i, share, http_options(config_, seeds_, share));
      if (!fetcher) return tl::unexpected(fetcher.error());
      fetchers_.push_back(std::move(*fetcher));
    }
    return {};
  }

  Result<void> offer_seeds() {
    std::vector<UrlRequest> requests;
    for (const Url& seed : seeds_)
      requests.push_back({.url = seed.href_without_fragment()});
    auto admissions = frontier_->offer(requests);
    if (!admissions) return tl::unexpected(admissions.error());
    return {};
  }

  void wake(std::uint32_t shard) {
    // The seeds are offered before the threads are there; these look for work when they start.
    if (shard < fetchers_.size()) fetchers_[shard]->wake();
  }

  void advance_to(CrawlPhase phase) {
    if (!context_) return;
    context_->advance_to(phase);
    // Even if it was there already: who advanced it may not have told the others.
    for (const auto& fetcher : fetchers_)
      fetcher->wake();
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

  void take_checkpoints() {
    std::unique_lock lock(mutex_);
    const auto over = [this] { return context_->phase() != CrawlPhase::kRunning; };
    while (!over()) {
      changed_.wait_for(lock, config_.checkpoint.interval,
                        [&] { return over() || checkpoint_wanted_; });
      if (over()) return;
      const bool requested = std::exchange(checkpoint_wanted_, false);
      lock.unlock();
      const auto begin = std::chrono::steady_clock::now();
      const auto taken = frontier_->checkpoint();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      if (taken) {
        spdlog::log(requested ? spdlog::level::info : spdlog::level::debug,
                    "checkpoint published in {:.3f} s", took.count());
      } else {
        context_->stop_with(taken.error());
      }
      lock.lock();
    }
  }

  void join() {
    for (auto& thread : threads_)
      thread.join();
    threads_.clear();
    if (checkpoints_.joinable()) checkpoints_.join();
  }

  const CrawlConfig config_;
  const std::vector<Url> seeds_;
  const Scope scope_;
  std::optional<PagesWriter> pages_;
  const std::uint32_t threads_wanted_;
  SkipCounts skipped_;
  std::optional<PageBudget> budget_;
  FrontierStats at_open_;
  std::chrono::steady_clock::time_point started_{};

  std::mutex mutex_;  // guards checkpoint_wanted_
  std::condition_variable changed_;
  bool checkpoint_wanted_ = false;

  // Destroyed in the reverse order: the frontier calls into the fetchers until it is gone.
  std::optional<CrawlContext> context_;
  std::vector<std::unique_ptr<Fetcher>> fetchers_;
  std::unique_ptr<Frontier> frontier_;
  std::vector<std::thread> threads_;
  std::thread checkpoints_;
};

}  // namespace

Result<std::unique_ptr<Crawl>> Crawl::open(const CrawlConfig& config, OpenMode mode,
                                           bool replace_profile) {
  auto crawl = std::make_unique<CrawlImpl>(config);
  if (auto opened = crawl->open(mode, replace_profile); !opened)
    return tl::unexpected(opened.error());
  return crawl;
}

std::filesystem::path output_directory(const CrawlConfig& config) {
  return config.output.directory.empty() ? config.crawl.state_dir / "output"
                                         : config.output.directory;
}

std::filesystem::path saved_config_path(const std::filesystem::path& state_dir) {
  return state_dir / "crawl.toml";
}

}  // namespace trawl
