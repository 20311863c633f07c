// open_shared_crawl: the crawl in Redis that a command is given as its frontier.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trawl/result.h"

#include "crawler/cli/frontier_commands.h"
#include "frontier/shared/shared_crawl.h"

namespace trawl::cli {

// `urls`: "redis://HOST:PORT/NAME", one or several with nodes of the same Redis, of which one must
// have the name. Errors and warnings are printed, and the exit code is returned.
tl::expected<std::unique_ptr<SharedCrawl>, int> open_shared_crawl(
    const std::vector<std::string>& urls, const RedisLogin& login);

// Of writes: kDone, or why it did not work.
Result<void> outcome_of(const std::vector<BucketStore::Written>& results);

}  // namespace trawl::cli
