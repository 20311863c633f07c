// CrawlSteering: another config for a running crawl.
//
// First everything that can fail: the config is checked, its rules are made and its blocklists are
// read. Then the frontier gets its delays, and the fetchers get config and rules at a safe point
// (safe_point.h). From then on the reload has happened: what fails later is a warning. At last held
// URLs that the new rules allow are queued again; those in the queues that they exclude are held
// when they are leased (Fetcher::begin()), so that nothing need be read for them.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "trawl/url.h"

#include "crawler/config/config_warnings.h"
#include "crawler/config/crawl_paths.h"
#include "crawler/decide/host_pace.h"
#include "crawler/run/config_change.h"
#include "crawler/run/crawl.h"
#include "crawler/run/crawl_steering.h"
#include "crawler/run/held_urls.h"
#include "crawler/run/start_requests.h"
#include "crawler/state/resumed_config.h"

namespace trawl {

namespace {

// How long a reload waits for the fetchers, which may wait for a slow disk.
constexpr std::chrono::seconds kPatience(20);

}  // namespace

CrawlConfig CrawlSteering::config() const {
  const ReaderLock use(using_parts_);
  return parts_.config;
}

void CrawlSteering::with_rules(
    const std::function<void(const CrawlConfig&, const CrawlRules&)>& use) const {
  const ReaderLock lock(using_parts_);
  use(parts_.config, parts_.rules);
}

Result<ReloadReport> CrawlSteering::reload(const ReadConfig& read) {
  const MutexLock lock(reloading_);
  reloading_now_.store(true, std::memory_order_relaxed);
  auto report = reload_alone(read);
  reloading_now_.store(false, std::memory_order_relaxed);
  return report;
}

Result<ReloadReport> CrawlSteering::reload_alone(const ReadConfig& read) {
  const CrawlConfig before = config();
  const bool sets_log = parts_.set_log != nullptr;
  ConfigChange change = config_change(before, parts_.read, read.config, sets_log);
  // Also without a change: blocklists may have changed.
  auto rules = CrawlRules::create(change.next, parse_seeds(change.next), parts_.redirects);
  if (!rules) return tl::unexpected(rules.error());
  ReloadReport report{.changed = std::move(change.changed),
                      .needs_restart = std::move(change.needs_restart),
                      .warnings = config_warnings(read.config)};
  for (const Blocklist& blocklist : (*rules)->decider.scope().blocklists()) {
    if (!blocklist.warning().empty()) report.warnings.push_back(blocklist.warning());
  }
  if (auto done = put_into_effect(change.next, std::move(*rules)); !done)
    return tl::unexpected(done.error());
  const auto warn = [&report](std::string_view what, const Error& failure) {
    report.warnings.push_back(
        fmt::format("the new config is in effect, but {}: {}", what, failure.message));
  };
  if (auto shortened = HostPace::shorten_delays(frontier_, HostPoliteness(before.politeness),
                                                HostPoliteness(change.next.politeness));
      !shortened)
    warn("hosts with other entries wait once more as they did", shortened.error());
  parts_.read = read.config;
  save(read.saved);
  if (sets_log) {
    // Also without a change: the file may have been moved away.
    if (auto set = parts_.set_log(change.next.log); !set)
      report.warnings.push_back(set.error().message);
  }
  // Seeds that an earlier reload could not offer are offered once more.
  const auto offered = offer_new_seeds(seeds_missing_ ? CrawlConfig::Crawl() : before.crawl);
  seeds_missing_ = !offered;
  if (!offered) warn("new seeds are not queued until the next reload", offered.error());
  const auto requeued =
      retry_held_urls(frontier_, context_.config, context_.rules, context_.urls_of_hosts);
  if (!requeued)
    warn("held URLs that it allows are not queued until the next reload", requeued.error());
  report.requeued = requeued.value_or(0);
  if (const auto stats = frontier_.stats()) report.held = stats->held;
  wake_();
  return report;
}

void CrawlSteering::replace_parts(const CrawlConfig& next, CrawlRules& rules) {
  // Only what may have changed: other threads read the rest without a lock.
  parts_.config.crawl.order = next.crawl.order;
  parts_.config.crawl.priorities = next.crawl.priorities;
  parts_.config.crawl.seeds = next.crawl.seeds;
  parts_.config.crawl.seed_file = next.crawl.seed_file;
  parts_.config.crawl.seed_settings = next.crawl.seed_settings;
  parts_.config.crawl.sitemaps = next.crawl.sitemaps;
  parts_.config.scope = next.scope;
  parts_.config.politeness = next.politeness;
  parts_.config.log = next.log;
  parts_.config.fetch.limit_rate = next.fetch.limit_rate;
  parts_.rules = std::move(rules);
  context_.seed_redirects.set_settings(parts_.rules.decider.shared_seeds());
  context_.pages.set_limit(next.scope.max_pages);
  context_.limits.set(next.scope.max_bytes, next.scope.max_time);
  context_.request_rate.set(next.politeness.max_rate);
  parts_.receive_rate.set(static_cast<double>(next.fetch.limit_rate));
  ++context_.reloads;
}

Result<void> CrawlSteering::put_into_effect(const CrawlConfig& next,
                                            std::unique_ptr<CrawlRules> rules) {
  const auto options = frontier_options_of(next);
  if (!options) return tl::unexpected(options.error());
  const auto before = frontier_options_of(parts_.config);
  if (!before) return tl::unexpected(before.error());
  if (auto noted = HostPace::note_entries(next.crawl.state_dir, rules->politeness); !noted)
    return noted;
  if (auto set = frontier_.set_politeness(options->politeness, options->retry); !set) return set;
  // No other thread reads or changes them now: neither fetchers, nor callers of this object.
  const auto change = [&] {
    const WriterLock alone(using_parts_);
    replace_parts(next, *rules);
  };
  if (context_.safe_point.change(kPatience, wake_, change)) return {};
  if (auto restored = frontier_.set_politeness(before->politeness, before->retry); !restored)
    return restored;
  return error(ErrorCode::kUnavailable,
               fmt::format("a fetcher thread was busy for {} s, perhaps with a slow disk: nothing "
                           "is changed; try again",
                           kPatience.count()));
}

Result<void> CrawlSteering::offer_new_seeds(const CrawlConfig::Crawl& before) {
  const StartRequests start(context_.rules, context_.config.crawl, before);
  if (start.requests().empty()) return {};
  const auto offered = frontier_.offer(start.requests());
  return offered ? Result<void>{} : tl::unexpected(offered.error());
}

// For `trawl resume STATE_DIR`. What the crawl was created with stays. A failure does not
// undo the reload.
void CrawlSteering::save(const CrawlConfig& read) {
  CrawlConfig saved = read;
  saved.crawl.state_dir = parts_.saved.crawl.state_dir;
  saved.filter = parts_.saved.filter;
  saved.frontier.ledger = parts_.saved.frontier.ledger;
  saved.output.directory = parts_.saved.output.directory;
  if (saved == parts_.saved) return;
  const auto stored = load_config(saved_config_path(saved.crawl.state_dir));
  // Perhaps it is the file that was read.
  if (!stored || *stored != saved) {
    if (auto written = save_configs(context_.config, saved); !written) {
      spdlog::warn("{}: the config for later runs is not updated", written.error().message);
      return;
    }
  }
  parts_.saved = std::move(saved);
}

}  // namespace trawl
