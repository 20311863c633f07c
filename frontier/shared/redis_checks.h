// Whether a Redis is configured so that it keeps a crawl.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "trawl/result.h"
#include "trawl/shared_options.h"

#include "frontier/redis/redis_client.h"

namespace trawl {

struct RedisCheckOptions {
  std::chrono::milliseconds lease{10'000};  // cluster.takeover_after
  SharedDurability durability = SharedDurability::kReplicated;
};

struct RedisChecks {
  std::vector<std::string> warnings;
  // Each node syncs its append-only file before it answers. Otherwise, with kSynced, ends of pages
  // must be written later than their links.
  bool syncs_always = false;
  // How far the wall clocks of the masters, in the median, are ahead of this machine's. Stored
  // times (of retries, recrawls, blocks) are read by other crawlers later: counted by this
  // machine's clock plus this, they mean the same to all.
  std::chrono::milliseconds clock_ahead{0};
};

// Asks all masters and replicas. Errors say what to do: kInvalidArgument for a configuration that
// would lose the crawl or stop it; kUnsupportedVersion; kUnavailable if a master does not answer.
// What a node does not say, to this user, is a warning.
Result<RedisChecks> check_redis(RedisClient& client, const RedisCheckOptions& options);

}  // namespace trawl
