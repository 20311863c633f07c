#include "crawler/cli/crawl_report.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>

#include "trawl/frontier_dump.h"

#include "base/rfc3339.h"
#include "crawler/config/crawl_paths.h"
#include "crawler/explain/state_names.h"
#include "crawler/status/process_usage.h"
#include "crawler/status/tally_json.h"
#include "crawler/tally/stored_tally.h"

namespace trawl::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostErrors = 100;

constexpr struct {
  const char* name;
  const char* order;
  TallyOrder by;
} kHostLists[] = {{"hosts", "fetched", TallyOrder::kFetched},
                  {"slowest_hosts", "slowest", TallyOrder::kSlowest},
                  {"largest_hosts", "bytes", TallyOrder::kBytes},
                  {"failing_hosts", "failed", TallyOrder::kFailed}};

std::string time_now() {
  return to_rfc3339(std::chrono::system_clock::now());
}

Result<ordered_json> ask(const ControlClient& crawl, const std::string& target) {
  const auto text = crawl.get(target);
  if (!text) return tl::unexpected(text.error());
  auto json = ordered_json::parse(*text, nullptr, false);
  if (json.is_object()) return json;
  return error(ErrorCode::kCorrupt, "the running crawl gives an answer that is not JSON");
}

std::string_view state_name(HostState state) {
  switch (state) {
    case HostState::kActive:
      return "active";
    case HostState::kBlocked:
      return "blocked";
    case HostState::kParked:
      return "parked";
    case HostState::kAtLimit:
      return "at limit";
  }
  return "active";
}

// A host as /api/v1/hosts has it.
ordered_json stopped_host_json(const std::string& name, const HostInfo* info,
                               const HostTally& tally, std::chrono::milliseconds delay) {
  const HostInfo known = info == nullptr ? HostInfo{.host = name} : *info;
  ordered_json json{{"host", name},
                    {"state", state_name(known.state)},
                    {"queued", known.queued},
                    {"leased", 0},
                    {"failures_in_a_row", known.failures}};
  add_host_tally(tally, json);
  const bool exact = known.settings.exact_delay.value_or(false);
  const auto own = known.settings.delay.value_or(std::chrono::milliseconds(0));
  json["delay_ms"] = (exact ? own : std::max(own, delay)).count();
  json["next_start"] = nullptr;
  const auto until = known.settings.blocked_until;
  json["blocked_until"] = until ? ordered_json(to_rfc3339(*until)) : ordered_json();
  json["reason"] = known.failures == 0
                       ? ordered_json()
                       : ordered_json(fmt::format("{} failures in a row", known.failures));
  return json;
}

ordered_json stopped_filter_json(const FrontierSummary& summary, bool exact) {
  if (!summary.filter_known) return nullptr;
  const FilterStats& filter = summary.stats.filter;
  ordered_json json{{"items", filter.inserted},         {"capacity", filter.capacity},
                    {"layers", filter.layers},          {"fill", filter.fill},
                    {"memory", filter.memory_bytes},    {"rate", filter.current_rate},
                    {"target_rate", filter.target_rate}};
  // As of the newest checkpoint.
  json["expected_lost"] = exact ? 0 : filter.expected_false_positives;
  json["measured_lost"] = nullptr;
  json["measured_rate"] = nullptr;
  json["seen"] = summary.stats.seen;
  json["warning"] = summary.stats.filter_warning.empty()
                        ? ordered_json()
                        : ordered_json(summary.stats.filter_warning);
  return json;
}

// When the newest checkpoint was written.
ordered_json time_of_newest(const std::filesystem::path& state_dir,
                            const FrontierSummary& summary) {
  if (summary.checkpoints.empty()) return nullptr;
  struct stat file {};
  const auto path = state_dir / summary.checkpoints.back().file;
  if (::stat(path.c_str(), &file) != 0) return nullptr;
  return to_rfc3339(std::chrono::system_clock::from_time_t(file.st_mtim.tv_sec) +
                    std::chrono::nanoseconds(file.st_mtim.tv_nsec));
}

ordered_json stopped_status_json(const CrawlConfig& config, const StoredTally& stored,
                                 const FrontierSummary& summary) {
  const TallyTotals& totals = stored.tally.totals;
  const FrontierStats& stats = summary.stats;
  ordered_json json{{"state", "stopped"},
                    {"version", TRAWL_VERSION},
                    {"state_dir", config.crawl.state_dir.string()},
                    {"elapsed_ms", stored.elapsed_ms},
                    {"time", time_now()},
                    {"pages", totals.lines},
                    {"bytes", totals.bytes()}};
  const double seconds = static_cast<double>(stored.elapsed_ms) / 1000;
  json["pages_per_second"] = seconds > 0 ? static_cast<double>(totals.lines) / seconds : 0.0;
  json["bytes_per_second"] = seconds > 0 ? static_cast<double>(totals.bytes()) / seconds : 0.0;
  add_totals(totals, json);
  json["skipped"] = stored.skipped;
  json["queued"] = stats.queued;
  json["leased"] = 0;
  json["deferred"] = stats.deferred;
  json["held"] = stats.held;
  json["set_aside_failed"] = stats.set_aside_failed;
  json["in_flight"] = 0;
  json["hosts"] = {{"known", stats.hosts},
                   {"active", 0},
                   {"waiting", 0},
                   {"blocked", stats.hosts_blocked},
                   {"parked", stats.hosts_parked}};
  json["next_start"] = nullptr;
  json["filter"] = stopped_filter_json(summary, config.filter.mode == FilterMode::kExact);
  json["checkpoint"] = {{"count", summary.checkpoints.size()},
                        {"last", time_of_newest(config.crawl.state_dir, summary)},
                        {"took_ms", nullptr},
                        {"next", nullptr}};
  json["memory"] = {{"peak", stored.peak_memory}};
  const auto free = free_disk_space(config.crawl.state_dir);
  json["disk"] = {{"free", free ? ordered_json(*free) : ordered_json()},
                  {"state", summary.disk_bytes}};
  const auto output = output_directory(config);
  json["output"] = {{"directory", output.string()},
                    {"pages", config.output.pages ? ordered_json((output / "pages.jsonl").string())
                                                  : ordered_json()}};
  json["warnings"] = summary.warnings;
  for (const std::string& warning : stored.warnings)
    json["warnings"].push_back(warning);
  return json;
}

// Of a crawler whose crawl has its frontier in Redis, which is not asked: what is queued is
// unknown.
void leave_frontier_out(const CrawlConfig& config, ordered_json& status) {
  for (const char* const key : {"queued", "deferred", "held", "set_aside_failed", "hosts"})
    status[key] = nullptr;
  status["cluster"] = {{"name", config.cluster.name},
                       {"member", cluster_member(config.cluster, config.crawl.state_dir)}};
}

}  // namespace

Result<CrawlReport> CrawlReport::of_running(const ControlClient& crawl, std::size_t hosts) {
  CrawlReport report;
  report.json_ = ordered_json{{"saved_at", time_now()}};
  const auto take = [&](const char* name, const std::string& target) -> Result<void> {
    auto json = ask(crawl, target);
    if (!json) return tl::unexpected(json.error());
    report.json_[name] = std::move(*json);
    return {};
  };
  if (auto done = take("status", "/api/v1/status"); !done) return tl::unexpected(done.error());
  if (auto done = take("history", "/api/v1/history"); !done) return tl::unexpected(done.error());
  for (const auto& list : kHostLists) {
    const auto target = fmt::format("/api/v1/hosts?order={}&limit={}", list.order, hosts);
    if (auto done = take(list.name, target); !done) return tl::unexpected(done.error());
  }
  const auto waiting = fmt::format("/api/v1/hosts?order=queued&limit={}", hosts);
  if (auto done = take("waiting_hosts", waiting); !done) return tl::unexpected(done.error());
  const auto errors = fmt::format("/api/v1/errors?limit={}", kMostErrors);
  if (auto done = take("errors", errors); !done) return tl::unexpected(done.error());
  return report;
}

Result<CrawlReport> CrawlReport::of_stopped(const CrawlConfig& config, std::size_t hosts) {
  // All hosts that wait: those in the lists are looked up among them.
  const bool is_member = config.cluster.enabled();
  const auto summary = is_member ? Result<FrontierSummary>(FrontierSummary{})
                                 : summarize_frontier(config.crawl.state_dir,
                                                      std::max(hosts, CrawlTally::kMaxHosts));
  if (!summary) return tl::unexpected(summary.error());
  auto stored = StoredTally::read(config.crawl.state_dir, output_directory(config) / "pages.jsonl");
  if (!stored) return tl::unexpected(stored.error());
  std::map<std::string_view, const HostInfo*> infos;
  for (const HostInfo& host : summary->longest_queues)
    infos.emplace(host.host, &host);
  CrawlReport report;
  report.json_ = ordered_json{{"saved_at", time_now()},
                              {"status", stopped_status_json(config, *stored, *summary)}};
  if (is_member) leave_frontier_out(config, report.json_["status"]);
  report.json_["history"] =
      history_json(CrawlHistory(std::move(stored->history), stored->history_interval));
  const CrawlTally tally(std::move(stored->tally));
  const auto delay = config.politeness.delay;
  for (const auto& list : kHostLists) {
    ordered_json rows = ordered_json::array();
    for (const HostTally& host : tally.top_hosts(list.by, hosts)) {
      const auto info = infos.find(host.host);
      rows.push_back(
          stopped_host_json(host.host, info == infos.end() ? nullptr : info->second, host, delay));
    }
    report.json_[list.name] = {{"hosts", std::move(rows)}};
  }
  ordered_json waiting = ordered_json::array();
  for (std::size_t i = 0; i < std::min(hosts, summary->longest_queues.size()); ++i) {
    const HostInfo& info = summary->longest_queues[i];
    waiting.push_back(
        stopped_host_json(info.host, &info, tally.host(info.host).value_or(HostTally{}), delay));
  }
  report.json_["waiting_hosts"] = {{"hosts", std::move(waiting)}};
  ordered_json errors = ordered_json::array();
  for (const RecentError& recent : tally.recent_errors(kMostErrors))
    errors.push_back(error_json(recent));
  report.json_["errors"] = {{"errors", std::move(errors)}};
  return report;
}

std::string CrawlReport::json_text() const {
  return json_.dump(-1, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace trawl::cli
