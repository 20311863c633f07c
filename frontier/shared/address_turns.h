// AddressTurns: requests to an IP address a delay apart, over all crawlers of a crawl.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trawl/result.h"

#include "frontier/redis/redis_client.h"
#include "frontier/shared/boot_clock.h"
#include "frontier/shared/bucket_keys.h"

namespace trawl {

// An address whose key exists is taken; the key expires a little later than the delay: by
// the time that a request may start after its turn was asked for. So the starts of requests are the
// delay apart, however long answers take, as far as the clocks of Redis and of the crawlers go at
// one rate. A failover takes no turn back, but the clock of the new master counts. Costs a round
// trip a request. Not thread-safe.
class AddressTurns {
 public:
  struct Request {
    std::string address;  // as text
    std::chrono::milliseconds delay{0};
  };
  struct Turn {
    bool now = false;
    BootTime start_by{};                // with `now`: later, another turn is needed
    std::chrono::milliseconds wait{0};  // otherwise: ask again then
  };

  // `client` must outlive it. Tests give clocks of their own.
  AddressTurns(RedisClient& client, BucketKeys keys,
               std::function<BootTime()> clock = BootClock::now)
      : client_(client), keys_(std::move(keys)), clock_(std::move(clock)) {}

  // A turn for each, or why there is none: kUnavailable, kNoSpace, kPermission; kCorrupt for a key
  // of another program.
  std::vector<Result<Turn>> take(std::span<const Request> requests);
  // How long after it was asked for a request may start. Grows with slow answers.
  std::chrono::milliseconds allowance() const { return allowance_; }
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }

 private:
  RedisClient& client_;
  BucketKeys keys_;
  std::function<BootTime()> clock_;
  std::chrono::milliseconds allowance_{20};
  std::chrono::milliseconds patience_{500};
};

}  // namespace trawl
