// What a crawl asks of the system: connections, open files, leases; and how its clients are set up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "trawl/result.h"

#include "base/rate_limiter.h"
#include "crawler/config/crawl_config.h"
#include "crawler/http/http_client.h"

namespace trawl {

// Raises the limit of open files as far as possible. An error if it is too low for the connections.
Result<void> check_descriptors(std::uint32_t connections);

// More leases than connections: a lease stays open until its completion is durable, but its
// connection is free before.
std::uint32_t most_leases(const CrawlConfig& config);

// How many connections a thread keeps for later requests, within the limit of open files.
std::size_t connections_kept(std::size_t connections, std::size_t threads);

// `connections`: those that are kept.
HttpOptions http_options(const CrawlConfig& config, std::size_t connections,
                         std::shared_ptr<BodyMemoryBudget> bodies,
                         std::shared_ptr<RateLimiter> rate);

}  // namespace trawl
