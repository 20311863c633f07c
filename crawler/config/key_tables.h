// The keys of each table of the config, in the order to write them.
#pragma once

#include <vector>

#include "crawler/config/config_keys.h"

// The field of a CrawlConfig, const or not, that a key stands for.
#define TRAWL_FIELD(member)   \
  [](auto& config) -> auto& { \
    return config.member;     \
  }

namespace trawl {

void add_crawl_keys(std::vector<ConfigKey>& keys);
void add_scope_keys(std::vector<ConfigKey>& keys);
void add_politeness_keys(std::vector<ConfigKey>& keys);
void add_fetch_keys(std::vector<ConfigKey>& keys);
void add_fetch_host_keys(std::vector<ConfigKey>& keys);  // fetch.host
void add_links_keys(std::vector<ConfigKey>& keys);
void add_url_keys(std::vector<ConfigKey>& keys);
void add_storage_keys(std::vector<ConfigKey>& keys);  // filter, frontier, checkpoint
void add_recrawl_keys(std::vector<ConfigKey>& keys);
void add_output_keys(std::vector<ConfigKey>& keys);
void add_log_keys(std::vector<ConfigKey>& keys);

}  // namespace trawl
