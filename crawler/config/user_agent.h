// The user agent of a crawl, and its token in robots.txt.
#pragma once

#include <string>
#include <string_view>

#include "crawler/config/crawl_config.h"

namespace trawl {

// The product token whose rules in robots.txt, headers and pages the crawl obeys:
// crawl.robots_token, else the token of crawl.user_agent. Empty if there is none: then the rules
// for all crawlers apply.
std::string robots_token_of(const CrawlConfig::Crawl& crawl);

// A warning if the user agent gives site owners no way to reach the operator; empty if it has a URL
// or a mail address other than those of the sample configs.
std::string user_agent_warning(std::string_view user_agent);

}  // namespace trawl
