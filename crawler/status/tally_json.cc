#include "crawler/status/tally_json.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/rfc3339.h"

namespace trawl {

namespace {
using nlohmann::ordered_json;
constexpr std::array<std::string_view, 6> kClassNames = {"none", "1xx", "2xx", "3xx", "4xx", "5xx"};
}  // namespace

void add_totals(const TallyTotals& totals, ordered_json& json) {
  ordered_json classes;
  for (std::size_t i = 0; i < kClassNames.size(); ++i)
    classes[std::string(kClassNames[i])] = totals.by_class[i];
  json["by_class"] = std::move(classes);
  ordered_json statuses = ordered_json::object();
  for (const auto& [status, count] : totals.by_status)
    statuses[std::to_string(status)] = count;
  json["by_status"] = std::move(statuses);
  json["redirects"] = totals.redirects;
  json["failed"] = totals.failed;
  std::vector<const FailureTally*> failures;
  for (const auto& [reason, failure] : totals.failures)
    failures.push_back(&failure);
  std::ranges::stable_sort(failures, std::ranges::greater(), &FailureTally::count);
  json["failures"] = ordered_json::array();
  for (const FailureTally* failure : failures) {
    json["failures"].push_back({{"reason", failure->reason},
                                {"count", failure->count},
                                {"url", failure->url},
                                {"error", failure->error}});
  }
  json["duplicates"] = totals.duplicates;
  json["truncated"] = totals.truncated;
  json["recrawls"] = totals.recrawls;
}

void add_host_tally(const HostTally& host, ordered_json& json) {
  json["fetched"] = host.fetched;
  json["failed"] = host.failed;
  json["bytes"] = host.bytes;
  json["mean_ms"] = host.mean_ms();
  json["longest_ms"] = host.longest_ms;
  json["smallest_gap_ms"] =
      host.smallest_gap ? ordered_json(host.smallest_gap->count()) : ordered_json();
  json["last_error"] = host.last_error.empty() ? ordered_json() : ordered_json(host.last_error);
}

ordered_json history_json(const CrawlHistory& history) {
  ordered_json samples = ordered_json::array();
  for (const HistorySample& sample : history.samples()) {
    samples.push_back({{"t", to_rfc3339(sample.time)},
                       {"pages", sample.pages},
                       {"bytes", sample.bytes},
                       {"queued", sample.queued},
                       {"seen", sample.seen},
                       {"failed", sample.failed},
                       {"in_flight", sample.in_flight},
                       {"memory", sample.memory}});
  }
  return {{"interval_ms", history.interval().count()}, {"samples", std::move(samples)}};
}

ordered_json error_json(const RecentError& error) {
  return {{"time", to_rfc3339(error.time)},
          {"url", error.url},
          {"status", error.status},
          {"reason", error.reason},
          {"error", error.error}};
}

}  // namespace trawl
