// URLs that a rule of a run excludes: why they are held, and which of them a later run allows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trawl/frontier.h"
#include "trawl/result.h"

#include "crawler/config/crawl_config.h"
#include "crawler/decide/host_limits.h"
#include "crawler/run/crawl_context.h"

namespace trawl {

// HoldReason::reason of URLs whose origin's robots.txt cannot be fetched while another origin of
// the same host has one. Each run offers them again.
inline constexpr std::string_view kRobotsUnavailable = "robots unavailable";
// The same for URLs whose certificate is refused by a run that trusts less than the one before.
inline constexpr std::string_view kTlsRefused = "TLS refused";

// The origin of a URL from the frontier, without credentials; empty if the URL is invalid.
std::string origin_of(std::string_view url);

// HoldReason::rules, as UrlDecider::held_by(), for addresses that the config refuses.
std::uint64_t held_by_address(const CrawlConfig& config);
// Why a URL is held whose address the config refuses.
HoldReason refused_address(const CrawlConfig& config);

// Queues the held URLs that the rules of this run may allow; robots.txt is checked when they are
// leased. Returns how many. Errors: those of the frontier.
Result<std::uint64_t> retry_held_urls(Frontier& frontier, const CrawlConfig& config,
                                      const CrawlRules& rules, HostUrlQuota& urls_of_hosts);

}  // namespace trawl
