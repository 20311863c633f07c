// trawl frontier stats
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "trawl/sizing.h"

#include "base/file_io.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/filter_report.h"
#include "crawler/cli/filter_values.h"
#include "crawler/cli/frontier_commands.h"
#include "crawler/cli/frontier_counts.h"
#include "crawler/cli/printable_text.h"
#include "crawler/cli/say.h"
#include "crawler/config/redis_place.h"
#include "crawler/state/crawl_totals.h"
#include "crawler/status/control_client.h"

namespace trawl::cli {

namespace {

using nlohmann::ordered_json;

ordered_json filter_json(const FrontierSummary& summary) {
  if (!summary.filter_known) return {};
  const FilterStats* const filter = &summary.stats.filter;
  const auto better = better_capacity(*filter);
  return {{"keys", filter->inserted},
          {"capacity", filter->capacity},
          {"layers", filter->layers},
          {"memory_bytes", filter->memory_bytes},
          {"rate", filter->current_rate},
          {"better_capacity", better ? ordered_json(*better) : ordered_json()}};
}

std::string as_json(const FrontierSummary& summary, const CrawlTotals::Totals& totals) {
  ordered_json json;
  add_counts(summary.stats, json);
  json["longest_queues"] = ordered_json::array();
  for (const HostInfo& host : summary.longest_queues)
    json["longest_queues"].push_back(json_of(host));
  json["checkpoints"] = ordered_json::array();
  for (const auto& checkpoint : summary.checkpoints) {
    json["checkpoints"].push_back(
        {{"file", checkpoint.file},
         {"admissions", checkpoint.sequence ? ordered_json(*checkpoint.sequence) : ordered_json()},
         {"bytes", checkpoint.bytes}});
  }
  json["filter"] = filter_json(summary);
  json["store_bytes"] = summary.store_bytes;
  json["disk_bytes"] = summary.disk_bytes;
  json["profile"] = summary.profile ? ordered_json(*summary.profile) : ordered_json();
  json["ledger"] = summary.ledger ? ordered_json(*summary.ledger) : ordered_json();
  json["warnings"] = summary.warnings;
  json["truncated"] = totals.truncated;
  return json.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string replayed_text(const FrontierSummary& summary) {
  if (!summary.profile) return "";  // nor is there a MANIFEST
  const auto newest =
      summary.checkpoints.empty() ? std::nullopt : summary.checkpoints.back().sequence;
  const std::uint64_t covered = newest.value_or(0);
  if (covered > summary.stats.admitted) return "";
  return fmt::format("{} URLs to replay", summary.stats.admitted - covered);
}

std::string as_text(const FrontierSummary& summary, const CrawlTotals::Totals& totals) {
  std::string text = counts_text(summary.stats, totals.truncated);
  const auto line = [&text](std::string_view name, const std::string& value) {
    text += stats_line(name, value);
  };
  for (const auto& checkpoint : summary.checkpoints) {
    line("checkpoint",
         fmt::format("{}, {}{}", checkpoint.file, readable_bytes(checkpoint.bytes),
                     checkpoint.sequence ? fmt::format(", {} URLs", *checkpoint.sequence) : ""));
  }
  if (summary.checkpoints.empty()) line("checkpoint", "none");
  if (const auto replayed = replayed_text(summary); !replayed.empty()) line("", replayed);
  if (summary.filter_known) {
    const FilterStats& filter = summary.stats.filter;
    line("filter", fmt::format("{} layer{}, room for {} URLs, {}, false-positive rate {:.2g}",
                               filter.layers, filter.layers == 1 ? "" : "s", filter.capacity,
                               readable_bytes(filter.memory_bytes), filter.current_rate));
    if (const auto advice = capacity_advice(filter, "expected_urls"); !advice.empty())
      line("", advice);
  }
  line("store", readable_bytes(summary.store_bytes));
  line("on disk", readable_bytes(summary.disk_bytes));
  if (summary.profile) line("rules for keys", printable(*summary.profile));
  if (summary.ledger) line("ledger", *summary.ledger ? "yes" : "no");
  for (const HostInfo& host : summary.longest_queues)
    text += queue_line(host);
  return text;
}

// Of a running crawl, which has its state locked and answers instead.
int stats_of_running(const ControlClient& crawl, const FrontierStatsArguments& arguments) {
  const auto text = crawl.get("/api/v1/frontier");
  if (!text) return report(text.error());
  auto json = ordered_json::parse(*text, nullptr, false);
  if (arguments.hosts > 0) {
    const auto hosts = crawl.get(
        fmt::format("/api/v1/hosts?limit={}", std::min<std::size_t>(arguments.hosts, 10'000)));
    if (!hosts) return report(hosts.error());
    json["longest_queues"] = ordered_json::parse(*hosts, nullptr, false)["hosts"];
  }
  if (arguments.json) {
    say_lines(stdout, json.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n");
    return kDone;
  }
  for (const auto& [name, value] : json.items()) {
    if (value.is_number()) say("{:<17} {}\n", name, value.dump());
  }
  const auto filter = json.value("filter", ordered_json::object());
  say("{:<17} {} of {} URLs, false-positive rate {:.2g}\n", "filter",
      filter.value("keys", std::uint64_t{0}), filter.value("capacity", std::uint64_t{0}),
      filter.value("rate", 0.0));
  for (const auto& host : json.value("longest_queues", ordered_json::array())) {
    say("{:>12}  {}  {}\n", host.value("queued", std::uint64_t{0}), host.value("host", ""),
        host.value("state", ""));
  }
  return kDone;
}

}  // namespace

int run_frontier_stats(const FrontierStatsArguments& arguments) {
  if (is_redis_url(arguments.state_dir)) return run_shared_stats(arguments);
  if (const auto crawl = ControlClient::connect(arguments.state_dir))
    return stats_of_running(*crawl, arguments);
  const auto summary = summarize_frontier(arguments.state_dir, arguments.hosts);
  if (!summary) return report(summary.error());
  const CrawlTotals::Totals totals = CrawlTotals(arguments.state_dir).read();
  const std::string text = arguments.json ? as_json(*summary, totals) : as_text(*summary, totals);
  if (const auto written = write_all(STDOUT_FILENO, text, "standard output"); !written)
    return report(written.error());
  for (const std::string& warning : summary->warnings)
    say(stderr, "trawl: warning: {}\n", warning);
  return kDone;
}

}  // namespace trawl::cli
