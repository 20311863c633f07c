// Relations between keys of a config.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "crawler/config/crawl_config.h"

namespace trawl {

struct ConfigConflict {
  // The keys that conflict. The message is about the first, without its name.
  std::vector<std::string_view> keys;
  std::string message;
};

// Adjusts keys that were not set and whose defaults conflict with keys that were, and returns the
// remaining conflicts. A config that passes also passes with every key set.
std::vector<ConfigConflict> resolve_related_keys(
    CrawlConfig& config, const std::function<bool(std::string_view key)>& given);

// The minimum of fetch.max_memory: room for one page of the largest size.
std::uint64_t least_body_memory(const CrawlConfig::Fetch& fetch);

}  // namespace trawl
