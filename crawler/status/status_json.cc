#include "crawler/status/status_json.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <unistd.h>

#include "base/rfc3339.h"
#include "crawler/config/crawl_paths.h"
#include "crawler/status/process_usage.h"
#include "crawler/status/tally_json.h"
#include "url/url_credentials.h"

namespace trawl {

namespace {

using nlohmann::ordered_json;

template <class Time>
ordered_json time_or_null(const std::optional<Time>& time) {
  return time ? ordered_json(to_rfc3339(*time)) : ordered_json();
}

template <class Value>
ordered_json value_or_null(const std::optional<Value>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

std::int64_t milliseconds_of(std::chrono::steady_clock::duration time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

std::string_view word_of(HostState state) {
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

ordered_json filter_part(const FrontierStats& stats) {
  const FilterStats& filter = stats.filter;
  return {
      {"items", filter.inserted},
      {"capacity", filter.capacity},
      {"layers", filter.layers},
      {"fill", filter.fill},
      {"memory", filter.memory_bytes},
      {"rate", stats.false_positive_rate},
      {"target_rate", filter.target_rate},
      {"expected_lost", stats.expected_lost},
      {"measured_rate",
       stats.seen_checked > 0 ? ordered_json(stats.measured_false_positive_rate) : ordered_json()},
      {"measured_lost", stats.seen_checked > 0 ? ordered_json(stats.seen_false) : ordered_json()},
      {"seen", stats.seen},
      {"warning",
       stats.filter_warning.empty() ? ordered_json() : ordered_json(stats.filter_warning)}};
}

ordered_json limits_part(const CrawlConfig& config) {
  const auto& scope = config.scope;
  return {{"max_pages", value_or_null(scope.max_pages)},
          {"max_time_ms", scope.max_time ? ordered_json(scope.max_time->count()) : ordered_json()},
          {"max_bytes", value_or_null(scope.max_bytes)}};
}

ordered_json checkpoint_part(const Crawl& crawl, const CrawlConfig& config,
                             const FrontierStats& stats) {
  const auto last = crawl.last_checkpoint();
  ordered_json part{
      {"count", stats.checkpoints}, {"last", nullptr}, {"took_ms", nullptr}, {"next", nullptr}};
  if (!last) return part;
  part["last"] = to_rfc3339(last->ended);
  part["took_ms"] = last->took.count();
  if (config.checkpoint.interval)
    part["next"] = to_rfc3339(last->ended + *config.checkpoint.interval);
  return part;
}

ordered_json hosts_part(const FrontierStats& stats) {
  return {{"known", stats.hosts},
          {"active", stats.hosts_leased},
          {"waiting", stats.hosts_waiting - std::min(stats.hosts_waiting, stats.hosts_blocked)},
          {"blocked", stats.hosts_blocked},
          {"parked", stats.hosts_parked}};
}

// Null if the crawl is this crawler's alone.
ordered_json cluster_part(const Crawl& crawl, const CrawlConfig& config) {
  const auto cluster = crawl.cluster();
  if (!cluster) return {};
  ordered_json members = ordered_json::array();
  for (const ClusterStatus::Member& member : cluster->members) {
    members.push_back(
        {{"name", member.name}, {"buckets", member.buckets}, {"self", member.is_self}});
  }
  const FrontierCounters& whole = cluster->totals;
  return {
      {"name", config.cluster.name},
      {"member", cluster_member(config.cluster, config.crawl.state_dir)},
      {"members", std::move(members)},
      {"buckets", cluster->buckets},
      {"owned", cluster->owned},
      {"inbox", cluster->inbox},
      {"oldest_message_ms", cluster->oldest_message.count()},
      {"forwarded", cluster->forwarded},
      {"messages_taken", cluster->messages_taken},
      {"gained", cluster->gained},
      {"lost", cluster->lost},
      {"rolled_back", cluster->rolled_back},
      {"passed_on", cluster->passed_on},
      {"over_limit", cluster->over_limit},
      {"waits_for", cluster->waits_for.empty() ? ordered_json() : ordered_json(cluster->waits_for)},
      {"crawl",
       {{"admitted", whole.admitted},
        {"completed", whole.completed},
        {"skipped", whole.skipped},
        {"succeeded", whole.succeeded},
        {"failed", whole.failed},
        {"open", whole.open()},
        {"deferred", whole.deferred},
        {"held", whole.held},
        {"set_aside_failed", whole.set_aside_failed}}}};
}

// Not in the past: a host that is due is requested as soon as there is room.
ordered_json next_start(const CrawlProgress& progress) {
  if (!progress.next_start) return {};
  const auto wait = *progress.next_start - std::chrono::steady_clock::now();
  // A host that a call blocked without an end.
  constexpr std::chrono::days kLongestWait{180};
  if (wait > kLongestWait) return {};
  return to_rfc3339(std::chrono::time_point_cast<SystemTime::duration>(
      std::chrono::system_clock::now() + std::max(wait, std::chrono::nanoseconds(0))));
}

// The time until the first limit is reached, at the rates of now; null without a limit.
ordered_json eta(const CrawlConfig& config, const TallyTotals& totals,
                 const CrawlProgress& progress, const RateWindow::Rates& rates) {
  std::optional<double> seconds;
  const auto reached_in = [&seconds](double left, double rate) {
    if (rate <= 0) return;
    const double time = std::max(left, 0.0) / rate;
    seconds = std::min(seconds.value_or(time), time);
  };
  const auto& scope = config.scope;
  const bool shared = config.cluster.enabled();
  if (shared && progress.pages_left)
    reached_in(static_cast<double>(*progress.pages_left), rates.pages);
  if (shared && progress.bytes_left)
    reached_in(static_cast<double>(*progress.bytes_left), rates.bytes);
  if (scope.max_pages && !shared)
    reached_in(static_cast<double>(*scope.max_pages) - static_cast<double>(totals.lines),
               rates.pages);
  if (scope.max_bytes && !shared)
    reached_in(static_cast<double>(*scope.max_bytes) - static_cast<double>(totals.bytes()),
               rates.bytes);
  if (scope.max_time) {
    reached_in(std::chrono::duration<double>(*scope.max_time - progress.elapsed).count(), 1);
  }
  return seconds ? ordered_json(static_cast<std::uint64_t>(*seconds * 1000)) : ordered_json();
}

}  // namespace

std::string_view state_word(const Crawl& crawl, bool ended) {
  if (ended) return "ended";
  if (crawl.phase() != CrawlPhase::kRunning) return "draining";
  return crawl.paused() ? "paused" : "running";
}

ordered_json status_json(const Crawl& crawl, bool ended, const RateWindow& window,
                         DiskUsage& disk) {
  const CrawlProgress progress = crawl.progress();
  const FrontierStats& stats = progress.frontier;
  const CrawlConfig config = crawl.config();
  const ProcessUsage usage = ProcessUsage::now();
  ordered_json json{{"state", state_word(crawl, ended)},
                    {"pid", ::getpid()},
                    {"version", TRAWL_VERSION},
                    {"state_dir", crawl.state_dir()}};
  json["started_at"] =
      to_rfc3339(std::chrono::system_clock::now() -
                 std::chrono::duration_cast<std::chrono::system_clock::duration>(progress.elapsed));
  json["elapsed_ms"] = milliseconds_of(progress.elapsed);
  json["time"] = to_rfc3339(std::chrono::system_clock::now());
  const TallyTotals totals = crawl.tally().totals();
  const std::uint64_t bytes = totals.bytes();
  const RateWindow::Rates rates =
      window.rates(std::chrono::steady_clock::now(), totals.lines, bytes);
  json["pages"] = totals.lines;
  json["pages_of_run"] = crawl.tally().of_this_run().lines;
  json["pages_per_second"] = rates.pages;
  json["bytes"] = bytes;
  json["bytes_per_second"] = rates.bytes;
  add_totals(totals, json);
  json["skipped"] = skipped_json(crawl);
  json["queued"] = stats.queued;
  json["leased"] = stats.leased;
  json["deferred"] = stats.deferred;
  json["held"] = stats.held;
  json["set_aside_failed"] = stats.set_aside_failed;
  json["in_flight"] = progress.in_flight;
  json["hosts"] = hosts_part(stats);
  json["next_start"] = next_start(progress);
  json["filter"] = filter_part(stats);
  json["checkpoint"] = checkpoint_part(crawl, config, stats);
  json["memory"] = {{"rss", usage.resident},
                    {"peak", usage.peak_resident},
                    {"frontier", stats.memory},
                    {"bodies", progress.bodies_memory}};
  json["disk"] = {{"free", value_or_null(free_disk_space(crawl.state_dir()))},
                  {"state", disk.of_state(crawl.state_dir(), std::chrono::steady_clock::now())}};
  json["limits"] = limits_part(config);
  json["eta_ms"] = eta(config, totals, progress, rates);
  json["cluster"] = cluster_part(crawl, config);
  json["output"] = {
      {"directory", output_directory(config).string()},
      {"pages", config.output.pages ? ordered_json(crawl.pages_path()) : ordered_json()}};
  return json;
}

ordered_json frontier_json(const Crawl& crawl) {
  const FrontierStats stats = crawl.progress().frontier;
  return {{"admitted", stats.admitted},
          {"completed", stats.completed},
          {"failed", stats.failed},
          {"skipped", stats.skipped},
          {"succeeded", stats.succeeded},
          {"held", stats.held},
          {"set_aside_failed", stats.set_aside_failed},
          {"requeued", stats.requeued},
          {"not_set_aside", stats.not_set_aside},
          {"dropped", stats.dropped},
          {"queued", stats.queued},
          {"leased", stats.leased},
          {"deferred", stats.deferred},
          {"retried", stats.retried},
          {"recrawls", stats.recrawls},
          {"seen", stats.seen},
          {"invalid", stats.invalid},
          {"depth_repairs", stats.depth_repairs},
          {"deepest", stats.deepest},
          {"hosts", stats.hosts},
          {"hosts_blocked", stats.hosts_blocked},
          {"hosts_given_up", stats.hosts_parked},
          {"filter",
           {{"keys", stats.filter.inserted},
            {"capacity", stats.filter.capacity},
            {"layers", stats.filter.layers},
            {"memory_bytes", stats.filter.memory_bytes},
            {"rate", stats.filter.current_rate}}},
          {"truncated", crawl.progress().truncated}};
}

ordered_json skipped_json(const Crawl& crawl) {
  ordered_json reasons = ordered_json::object();
  for (const auto& [reason, count] : crawl.skipped_in_all()) {
    if (count > 0) reasons[reason] = count;
  }
  return reasons;
}

ordered_json host_json(const HostRow& row, const HostTally* tally) {
  const auto now = std::chrono::system_clock::now();
  const bool waits =
      row.state == HostState::kActive && row.leased == 0 && row.next_start && *row.next_start > now;
  ordered_json json{{"host", row.host},
                    {"state", waits ? "waiting" : word_of(row.state)},
                    {"queued", row.queued},
                    {"leased", row.leased},
                    {"failures_in_a_row", row.failures}};
  add_host_tally(tally == nullptr ? HostTally{} : *tally, json);
  json["delay_ms"] = row.delay.count();
  json["next_start"] = time_or_null(row.next_start);
  json["blocked_until"] = time_or_null(row.blocked_until);
  json["reason"] = row.reason.empty() ? ordered_json() : ordered_json(row.reason);
  return json;
}

ordered_json offer_json(const OfferReport& report) {
  return {{"offered", report.offered},
          {"new", report.fresh},
          {"seen", report.seen},
          {"invalid", report.invalid},
          {"skipped", report.skipped}};
}

ordered_json reload_json(const ReloadReport& report) {
  return {{"changed", report.changed},
          {"needs_restart", report.needs_restart},
          {"held", report.held},
          {"requeued", report.requeued},
          {"warnings", report.warnings}};
}

std::string dump_json(const ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace trawl
