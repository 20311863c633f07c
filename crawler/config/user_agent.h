// What a crawl calls itself: to servers, and in robots.txt.
#pragma once

#include <string>
#include <string_view>

#include "crawler/config/config.h"

namespace trawl {

// The product token whose rules in robots.txt the crawl obeys, and those in headers and pages:
// crawl.robots_token, or else that of crawl.user_agent. Empty if there is none: the rules for all
// crawlers are obeyed.
std::string robots_token_of(const CrawlConfig::Crawl& crawl);

// Why the owner of a site could not find out whose crawler this is, for who set it; empty if there
// is nothing to say: it names a URL or a mail address, and not those of the sample configs.
std::string user_agent_warning(std::string_view user_agent);

}  // namespace trawl
