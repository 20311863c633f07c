// The cookies that a crawl begins with: those of earlier runs, and those of the user's file.
#pragma once

#include "trawl/result.h"

#include "crawler/config/cookies_file.h"
#include "crawler/config/crawl_config.h"
#include "crawler/http/site_cookies.h"

namespace trawl {

// Of fetch.cookies_file. A crawl that was begun with it has its cookies, and goes on without it.
Result<CookiesFile> cookies_to_import(const CrawlConfig& config);

// Fills `cookies` with those of earlier runs, unless the user's file is newer than they are.
// Errors: those of SiteCookies::read().
Result<void> begin_cookies(SiteCookies& cookies, const CrawlConfig& config,
                           const CookiesFile& imported);

}  // namespace trawl
