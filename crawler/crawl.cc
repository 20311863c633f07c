#include "crawler/crawl.h"

#include <algorithm>
#include <atomic>
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
    auto options = frontier_options_of(config_);
    if (!options) return tl::unexpected(options.error());
    options->mode = mode;
    options->shards = threads_wanted_;
    options->replace_profile = replace_profile;
    options->before_commit = [this](auto completions) { return pages_->append(completions); };
    options->on_work = [this](std::uint32_t shard) { wake(shard); };
    options->on_checkpoint = [this](const CheckpointEvent& event) { on_checkpoint(event); };
    auto frontier = Frontier::open(*options);
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
    // release: what open() made; pairs with the acquire load in on_checkpoint().
    running_.store(true, std::memory_order_release);
    try {
      for (const auto& fetcher : fetchers_) {
        threads_.emplace_back([fetcher = fetcher.get()] { fetcher->run(); });
      }
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
    return phase == CrawlPhase::kDraining || finished() || exhausted() || reached_max_pages();
  }

  void drain() override { advance_to(CrawlPhase::kDraining); }
  void abort() override { advance_to(CrawlPhase::kAborting); }

  void request_checkpoint() override {
    checkpoint_asked_for_.store(true, std::memory_order_relaxed);
    frontier_->request_checkpoint();
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
  bool exhausted() const override { return frontier_->exhausted(); }
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
  }

  // On the frontier's checkpoint thread.
  void on_checkpoint(const CheckpointEvent& event) {
    const bool asked_for = checkpoint_asked_for_.exchange(false, std::memory_order_relaxed);
    if (event.result) {
      spdlog::log(asked_for ? spdlog::level::info : spdlog::level::debug,
                  "checkpoint published in {:.3f} s", event.took.count());
    } else if (running_.load(std::memory_order_acquire)) {  // pairs with the store in start()
      context_->stop_with(event.result.error());
    } else {
      spdlog::warn("{}", event.result.error().message);  // the next one will tell whether it lasts
    }
  }

  void join() {
    for (auto& thread : threads_)
      thread.join();
    threads_.clear();
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

  std::atomic<bool> running_{false};
  std::atomic<bool> checkpoint_asked_for_{false};  // since the last one was told of

  // Destroyed in the reverse order: the frontier calls into the fetchers until it is gone.
  std::optional<CrawlContext> context_;
  std::vector<std::unique_ptr<Fetcher>> fetchers_;
  std::unique_ptr<Frontier> frontier_;
  std::vector<std::thread> threads_;
};

}  // namespace

Result<std::unique_ptr<Crawl>> Crawl::open(const CrawlConfig& config, OpenMode mode,
                                           bool replace_profile) {
  auto crawl = std::make_unique<CrawlImpl>(config);
  if (auto opened = crawl->open(mode, replace_profile); !opened)
    return tl::unexpected(opened.error());
  return crawl;
}

Result<FrontierOptions> frontier_options_of(const CrawlConfig& config) {
  auto profile = Profile::from_text(config.url.text, config.url.hosts);
  if (!profile) return tl::unexpected(profile.error());
  FrontierOptions options;
  options.directory = config.crawl.state_dir;
  options.expected_urls = config.filter.expected_urls;
  options.false_positive_rate = config.filter.false_positive_rate;
  options.max_filter_memory = config.filter.max_memory.value_or(0);
  options.filter_mode = config.filter.mode;
  options.ledger = config.frontier.ledger;
  options.max_memory = config.frontier.max_memory;
  options.durability = config.frontier.durability == Durability::kSync ? FrontierDurability::kSync
                                                                       : FrontierDurability::kAsync;
  options.delay = config.politeness.delay;
  options.domain_delay = config.politeness.domain_delay;
  options.address_delay = config.politeness.ip_delay;
  options.adaptive_delay = config.politeness.adaptive_delay;
  options.max_adaptive_delay = config.politeness.max_adaptive_delay;
  options.leases_per_host = config.politeness.per_host_connections;
  options.lease_timeout = std::chrono::milliseconds(0);  // a fetcher ends every lease
  options.max_open_leases = config.fetch.connections;
  options.max_url_length = config.scope.max_url_length;
  options.checkpoints_kept = config.checkpoint.keep;
  options.checkpoint_interval = config.checkpoint.interval;
  options.checkpoint_admissions = config.checkpoint.admissions;
  options.checkpoint_rate = config.checkpoint.max_rate;
  options.profile = std::move(*profile);
  return options;
}

std::filesystem::path output_directory(const CrawlConfig& config) {
  return config.output.directory.empty() ? config.crawl.state_dir / "output"
                                         : config.output.directory;
}

std::filesystem::path saved_config_path(const std::filesystem::path& state_dir) {
  return state_dir / "crawl.toml";
}

}  // namespace trawl
