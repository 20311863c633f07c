#include "crawler/status/saved_report.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trawl/frontier_dump.h"

#include "base/rfc3339.h"
#include "crawler/config/crawl_config.h"
#include "crawler/config/crawl_paths.h"
#include "crawler/status/control_client.h"
#include "crawler/status/status_json.h"
#include "crawler/status/tally_json.h"
#include "crawler/tally/stored_tally.h"

namespace trawl {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kHosts = 200;

struct StoppedCrawl {
  std::filesystem::path state_dir;
  CrawlConfig config;
  StoredTally tally;
  FrontierSummary frontier;
};

Result<std::string> report_of_running(const ControlClient& crawl) {
  const std::pair<const char*, std::string> parts[] = {
      {"status", "/api/v1/status"},
      {"history", "/api/v1/history"},
      {"hosts", fmt::format("/api/v1/hosts?limit={}", kHosts)},
      {"errors", "/api/v1/errors"}};
  std::string report = "{";
  for (const auto& [name, target] : parts) {
    const auto answer = crawl.get(target);
    if (!answer) return tl::unexpected(answer.error());
    report += fmt::format("\"{}\":{},", name, *answer);
  }
  const auto now = std::chrono::system_clock::now();
  return report + fmt::format("\"saved_at\":\"{}\"}}", to_rfc3339(now));
}

Result<StoppedCrawl> read_stopped(const std::filesystem::path& state_dir) {
  StoppedCrawl crawl{.state_dir = state_dir, .config = {}, .tally = {}, .frontier = {}};
  if (auto config = load_config(saved_config_path(state_dir))) crawl.config = std::move(*config);
  crawl.config.crawl.state_dir = state_dir;
  auto frontier = summarize_frontier(state_dir, kHosts);
  if (!frontier) return tl::unexpected(frontier.error());
  crawl.frontier = std::move(*frontier);
  auto tally = StoredTally::read(state_dir, output_directory(crawl.config) / "pages.jsonl");
  if (!tally) return tl::unexpected(tally.error());
  crawl.tally = std::move(*tally);
  return crawl;
}

ordered_json filter_of_stopped(const FrontierSummary& frontier) {
  ordered_json json{{"seen", frontier.stats.seen}};
  if (!frontier.filter_read) return json;
  const FilterStats& filter = frontier.stats.filter;
  json.update({{"items", filter.inserted},
               {"capacity", filter.capacity},
               {"layers", filter.layers},
               {"fill", filter.fill},
               {"memory", filter.memory_bytes},
               {"rate", filter.current_rate},
               {"target_rate", filter.target_rate}});
  return json;
}

ordered_json status_of_stopped(const StoppedCrawl& crawl) {
  const FrontierStats& stats = crawl.frontier.stats;
  const TallyTotals& totals = crawl.tally.tally.totals;
  ordered_json json{{"state", "ended"},
                    {"version", TRAWL_VERSION},
                    {"state_dir", crawl.state_dir.string()},
                    {"elapsed_ms", crawl.tally.elapsed_ms},
                    {"pages", totals.lines},
                    {"bytes", totals.bytes()}};
  if (const double seconds = static_cast<double>(crawl.tally.elapsed_ms) / 1000; seconds > 0) {
    json["pages_per_second"] = static_cast<double>(totals.lines) / seconds;
    json["bytes_per_second"] = static_cast<double>(totals.bytes()) / seconds;
  }
  add_totals(totals, json);
  json["skipped"] = crawl.tally.skipped;
  json["queued"] = stats.queued;
  json["leased"] = 0;
  json["deferred"] = stats.deferred;
  json["held"] = stats.held;
  json["set_aside_failed"] = stats.set_aside_failed;
  json["in_flight"] = 0;
  json["hosts"] = {{"known", stats.hosts},
                   {"active", 0},
                   {"blocked", stats.hosts_blocked},
                   {"parked", stats.hosts_parked}};
  json["filter"] = filter_of_stopped(crawl.frontier);
  json["checkpoint"] = {{"count", crawl.frontier.checkpoints.size()}};
  json["memory"] = {{"peak", crawl.tally.peak_memory}};
  json["disk"] = {{"state", crawl.frontier.disk_bytes}};
  json["output"] = {{"directory", output_directory(crawl.config).string()}};
  return json;
}

std::string_view name_of(HostState state) {
  switch (state) {
    case HostState::kActive:
      return "waiting";
    case HostState::kBlocked:
      return "blocked";
    case HostState::kParked:
      return "parked";
    case HostState::kAtLimit:
      return "at limit";
  }
  return "waiting";
}

// Those with the longest queues, then those with the most pages.
ordered_json hosts_of_stopped(const StoppedCrawl& crawl) {
  const auto usual_delay = crawl.config.politeness.delay;
  std::map<std::string, HostTally> tallies;
  for (const HostTally& tally : crawl.tally.tally.hosts)
    tallies.emplace(tally.host, tally);
  ordered_json rows = ordered_json::array();
  for (const HostInfo& host : crawl.frontier.longest_queues) {
    ordered_json row{{"host", host.host},
                     {"state", name_of(host.state)},
                     {"queued", host.queued},
                     {"delay_ms", host.settings.delay.value_or(usual_delay).count()}};
    if (host.settings.blocked_until)
      row["blocked_until"] = to_rfc3339(*host.settings.blocked_until);
    const auto tally = tallies.extract(host.host);
    add_host_tally(tally ? tally.mapped() : HostTally{}, row);
    rows.push_back(std::move(row));
  }
  std::vector<HostTally> finished;
  for (auto& [name, tally] : tallies)
    finished.push_back(std::move(tally));
  sort_hosts(finished, TallyOrder::kFetched, kHosts - std::min(kHosts, rows.size()));
  for (const HostTally& tally : finished) {
    ordered_json row{{"host", tally.host},
                     {"state", "finished"},
                     {"queued", 0},
                     {"delay_ms", usual_delay.count()}};
    add_host_tally(tally, row);
    rows.push_back(std::move(row));
  }
  return {{"hosts", std::move(rows)}};
}

std::string report_of_stopped(const StoppedCrawl& crawl) {
  ordered_json errors = ordered_json::array();
  for (const RecentError& error : crawl.tally.tally.errors)
    errors.push_back(error_json(error));
  return dump_json(
      {{"status", status_of_stopped(crawl)},
       {"history", history_json(CrawlHistory(crawl.tally.history, crawl.tally.history_interval))},
       {"hosts", hosts_of_stopped(crawl)},
       {"errors", {{"errors", std::move(errors)}}},
       {"saved_at", to_rfc3339(std::chrono::system_clock::now())}});
}

}  // namespace

Result<std::string> saved_report(const std::filesystem::path& state_dir) {
  if (const auto running = ControlClient::connect(state_dir)) return report_of_running(*running);
  const auto stopped = read_stopped(state_dir);
  if (!stopped) return tl::unexpected(stopped.error());
  return report_of_stopped(*stopped);
}

}  // namespace trawl
