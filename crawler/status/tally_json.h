// tally_json: the parts of the API's JSON that are made of what was fetched.
#pragma once

#include <nlohmann/json.hpp>

#include "crawler/tally/crawl_history.h"
#include "crawler/tally/crawl_tally.h"

namespace trawl {

// Adds "by_class", "by_status", "redirects", "failed", "failures", "duplicates", "truncated",
// "recrawls".
void add_totals(const TallyTotals& totals, nlohmann::ordered_json& json);
// Adds "fetched", "failed", "bytes", "mean_ms", "smallest_gap_ms" and more of a host.
void add_host_tally(const HostTally& host, nlohmann::ordered_json& json);
nlohmann::ordered_json history_json(const CrawlHistory& history);
nlohmann::ordered_json error_json(const RecentError& error);

}  // namespace trawl
