// shown_config: a config as others may see it.
#pragma once

#include <string>
#include <vector>

#include "crawler/config/crawl_config.h"

namespace trawl {

// The config with "(hidden)" in place of all secrets: passwords, those in URLs too, tokens, and the
// values of headers and of the fields of logins.
CrawlConfig without_secrets(CrawlConfig config);

// "table.key = value" for each key that differs from its default: one line each, without secrets
// and what only concerns this machine (paths, log, status server, proxies). Long values are cut.
std::vector<std::string> shown_config(const CrawlConfig& config);

}  // namespace trawl
