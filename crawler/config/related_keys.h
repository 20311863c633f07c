// What the keys of a config mean to each other.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "crawler/config/config.h"

namespace trawl {

struct ConfigConflict {
  // That do not go together. The message is about the first, without its name.
  std::vector<std::string_view> keys;
  std::string message;
};

// Keys that were not given and whose default contradicts one that was follow that one; what
// contradicts all the same is told. A config that passes does so again with every key given.
std::vector<ConfigConflict> settle_related_keys(
    CrawlConfig& config, const std::function<bool(std::string_view key)>& given);

// What fetch.max_memory has to be at least, for one page of the largest size.
std::uint64_t least_body_memory(const CrawlConfig::Fetch& fetch);

}  // namespace trawl
