// SharedConnection: a crawler that has joined a crawl in Redis, before it owns anything.
#pragma once

#include <memory>

#include "trawl/result.h"
#include "trawl/shared_options.h"

#include "frontier/redis/redis_client.h"
#include "frontier/redis/redis_options.h"
#include "frontier/shared/bucket_keys.h"
#include "frontier/shared/bucket_ownership.h"
#include "frontier/shared/redis_checks.h"
#include "frontier/shared/shared_config.h"

namespace trawl {

struct SharedConnection {
  RedisOptions redis;
  BucketKeys keys;
  JoinedCrawl crawl;   // with the hash of all
  RedisChecks checks;  // warnings to be passed on, and by how much the clocks of Redis are ahead
  BucketOwnership::Options ownership;  // with the names of the member and of this session
  // For BucketStore: whether a write counts when a replica has it.
  bool replicated = true;

  // Further clients of the same nodes; each has connections of its own. The second one is for an
  // OwnershipThread: it gives up early on a node that does not answer.
  Result<std::unique_ptr<RedisClient>> client() const;
  Result<std::unique_ptr<RedisClient>> ownership_client() const;
};

// Validates the options, finds the nodes, checks their configuration, and creates or joins the
// crawl; notes it and a new session in the directory (SharedSession). Precondition: the caller has
// created and locked the directory, if one is given.
//
// Errors: kInvalidArgument for an option, a difference to the other crawlers, or a configuration of
// Redis that would lose the crawl; kProfileMismatch; kUnavailable; kPermission; kNotFound if Redis
// has lost the crawl in which this directory takes part; kAlreadyExists if the directory takes part
// in another crawl; kUnsupportedVersion; kCorrupt.
Result<SharedConnection> connect_shared(const SharedOptions& options);

}  // namespace trawl
