// URLs that a rule of a run passes over: what they are held for, and which of them a later run
// wants after all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trawl/frontier.h"
#include "trawl/result.h"

#include "crawler/config/config.h"
#include "crawler/decide/host_counts.h"
#include "crawler/run/crawl_context.h"

namespace trawl {

// HoldReason::reason of URLs whose origin has no robots.txt to be had while another one of the same
// host has. Each run offers them again.
inline constexpr std::string_view kRobotsUnavailable = "robots unavailable";
// The same of those whose certificate is refused by a run that trusts less than the one before.
inline constexpr std::string_view kTlsRefused = "TLS refused";

// The origin of a URL as the frontier has it, credentials left out; empty if it is none.
std::string origin_of(std::string_view url);

// HoldReason::rules, as UrlDecider::held_by(), for addresses that must not be connected to.
std::uint64_t held_by_address(const CrawlConfig& config);

// Queues those again that the rules of this run let pass, as far as can be told before they are
// leased: a robots.txt is asked for anew. Returns how many. Errors: those of the frontier.
Result<std::uint64_t> retry_held_urls(Frontier& frontier, const CrawlConfig& config,
                                      const CrawlRules& rules, HostUrlCounts& urls_of_hosts);

}  // namespace trawl
