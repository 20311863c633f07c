// The counts of a frontier and its longest queues, as `trawl frontier stats` prints them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "trawl/frontier_stats.h"
#include "trawl/lease.h"

namespace trawl::cli {

// A line of the text form.
std::string stats_line(std::string_view name, std::string_view value);
std::string counts_text(const FrontierStats& stats, std::uint64_t truncated);
std::string queue_line(const HostInfo& host);

void add_counts(const FrontierStats& stats, nlohmann::ordered_json& json);
nlohmann::ordered_json json_of(const HostInfo& host);

}  // namespace trawl::cli
