// SharedBudget: a limit over all crawlers of a crawl, such as max_pages.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "trawl/result.h"

#include "frontier/redis/redis_client.h"
#include "frontier/shared/bucket_keys.h"

namespace trawl {

// Crawlers take portions of it: a hundredth of what is left, within bounds. What a crawler has
// taken is spent for the others, so the limit is never exceeded; what a crawler had left when it
// was killed is lost. A portion counts when it is replicated. A call that was not answered is
// repeated by the next one, and counts once. Not thread-safe.
class SharedBudget {
 public:
  struct Options {
    std::string name;         // field of the key {crawl:bud}: "pages", "bytes"
    std::string session;      // of this process: unique
    std::uint64_t least = 1;  // a portion
    std::uint64_t most = 1000;
    std::chrono::milliseconds patience{2000};
  };
  // `client` must outlive it.
  SharedBudget(RedisClient& client, const BucketKeys& keys, Options options)
      : client_(&client), key_(keys.budgets()), options_(std::move(options)) {}

  // A portion of what is left of `limit`, at least `need` if so much is left; 0: it is used up, for
  // now: crawlers that stop give something back. `limit` may differ from call to call. Errors:
  // kUnavailable, kNoSpace, kCorrupt, kPermission.
  Result<std::uint64_t> take(std::uint64_t limit, std::uint64_t need = 1);
  // What this crawler took and will not use. Precondition: it took so much.
  Result<void> give_back(std::uint64_t amount);
  // Taken by all crawlers together, and not given back.
  Result<std::uint64_t> taken();

 private:
  Result<void> settle();
  RedisCommand command(std::uint64_t back, std::uint64_t limit, std::uint64_t need);

  RedisClient* client_;
  std::string key_;
  Options options_;
  std::uint64_t number_ = 0;             // of the last request
  std::optional<RedisCommand> pending_;  // not answered yet
  std::uint64_t in_hand_ = 0;            // of portions whose answers came late
};

}  // namespace trawl
