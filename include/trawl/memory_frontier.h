// MemoryFrontier: a frontier in memory, for tests and demos.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "trawl/canonicalizer.h"
#include "trawl/clocks.h"
#include "trawl/frontier.h"
#include "trawl/frontier_options.h"
#include "trawl/result.h"

namespace trawl {

// The options of a MemoryFrontier.
struct MemoryOptions {
  PolitenessOptions politeness = {};
  RetryOptions retry = {};
  LimitOptions limits = {};
  Profile profile = {};  // decides which URLs are the same
  // The clock for delays, and the clock for retries, recrawls and blocked hosts: as in
  // TestingOptions. The system's clocks if empty.
  std::function<SteadyTime()> clock = {};
  std::function<SystemTime()> wall_clock = {};
  // The seed of random choices. With the same clocks and seed the same calls return the same leases
  // in the same order.
  std::uint64_t seed = 1;
};

// A Frontier that keeps everything in memory, 500 bytes or more a URL, and ends with its process:
// "durable" means in memory. It is exact (no URL is wrongly called seen), remembers the last fetch
// of each URL for lookup(), and sets any number of URLs aside. It has one shard, and each lease()
// examines every host: for thousands of hosts, not for millions.
class MemoryFrontier {
 public:
  // Errors: kInvalidArgument; the message names the option.
  [[nodiscard]] static Result<std::unique_ptr<Frontier>> create(const MemoryOptions& options = {});
};

}  // namespace trawl
