// shown_config: a config as others may see it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "crawler/config/crawl_config.h"

namespace trawl {

// Whether the values of this key may be passwords, so that they must not be shown.
bool is_secret_key(std::string_view key);

// "table.key = value" for each key that differs from its default: one line each, without secrets,
// passwords in URLs, and what only concerns this machine (paths, log, status server). Long values
// are cut.
std::vector<std::string> shown_config(const CrawlConfig& config);

// Calls `use` with each URL that a crawl starts from, which may hold a password.
void each_start_url(CrawlConfig& config, const std::function<void(std::string& url)>& use);
// The config without the passwords in URLs to start from.
CrawlConfig without_passwords(const CrawlConfig& config);

}  // namespace trawl
