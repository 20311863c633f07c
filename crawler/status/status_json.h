// status_json: the JSON of the API, made of a crawl's counters.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "crawler/run/crawl.h"
#include "crawler/status/disk_usage.h"
#include "crawler/status/rate_window.h"

namespace trawl {

// What the crawl does, in a word: "running", "paused", "draining" or "ended".
std::string_view state_word(const Crawl& crawl, bool ended);

// The answers of GET /api/v1/status, /frontier, /skipped.
nlohmann::ordered_json status_json(const Crawl& crawl, bool ended, const RateWindow& window,
                                   DiskUsage& disk);
nlohmann::ordered_json frontier_json(const Crawl& crawl);
nlohmann::ordered_json skipped_json(const Crawl& crawl);

// `tally`: what was fetched from the host; null: nothing.
nlohmann::ordered_json host_json(const HostRow& row, const HostTally* tally);
nlohmann::ordered_json offer_json(const OfferReport& report);
nlohmann::ordered_json reload_json(const ReloadReport& report);

// JSON in one line; bytes that are not UTF-8 are replaced.
std::string dump_json(const nlohmann::ordered_json& json);

}  // namespace trawl
