#include "crawler/decide/fetch_memory_plan.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "crawler/config/related_keys.h"
#include "crawler/decide/host_limits.h"
#include "crawler/http/cookie_jars.h"

namespace trawl {

namespace {

// Of SiteCookies, for a byte of the user's file: 520 for a line of 30, each of another site.
constexpr std::uint64_t kBytesOfACookieByte = 18;

}  // namespace

// Bodies keep half of the memory, and room for the largest page: there may be fewer bodies at a
// time, but none becomes too large because of the tables.
FetchMemoryPlan FetchMemoryPlan::of(const CrawlConfig& config) {
  FetchMemoryPlan tables;
  const std::uint64_t threads = config.fetch.threads;
  if (config.fetch.cookies || !config.fetch.cookies_file.empty() || !config.fetch.logins.empty() ||
      std::ranges::any_of(config.fetch.hosts,
                          [](const auto& host) { return host.cookies.value_or(false); })) {
    tables.most += threads * CookieJars::kMaxBytes + SiteCookies::kMaxBytes;
    std::error_code gone;
    const auto imported = std::filesystem::file_size(config.fetch.cookies_file, gone);
    if (!gone) tables.most += imported * kBytesOfACookieByte;
  }
  if (LimitByHost::pages(config).any())
    tables.most += threads * HostPageQuota::kMaxHosts * HostPageQuota::kBytesOfAHost;
  if (LimitByHost::urls(config).any()) {
    tables.of_url_counts = config.fetch.max_memory / 4;
    tables.most += RecentHashes::kBytes + tables.of_url_counts;
  }
  const std::uint64_t half = config.fetch.max_memory / 2;
  const std::uint64_t held = std::min(tables.most, half);
  tables.for_bodies = std::max(least_body_memory(config.fetch), config.fetch.max_memory - held);
  return tables;
}

}  // namespace trawl
