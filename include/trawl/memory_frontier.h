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

struct MemoryOptions {
  PolitenessOptions politeness = {};
  RetryOptions retry = {};
  LimitOptions limits = {};
  Profile profile = {};  // decides which URLs are the same
  // The clocks of delays, and of retries, recrawls and blocked hosts: as in TestingOptions. The
  // real ones if empty.
  std::function<SteadyTime()> clock = {};
  std::function<SystemTime()> wall_clock = {};
  // What is random is drawn from it: the same calls, with clocks of the caller's, then give the
  // same leases in the same order.
  std::uint64_t seed = 1;
};

// A Frontier that keeps all it was told, about 500 bytes and more a URL, and is gone with its
// process: "durable" is what it knows. It is exact (no URL is wrongly taken for seen), remembers
// the last fetch of each URL for lookup(), and sets any number of URLs aside. It has one shard, and
// each lease() looks at every host: for thousands of hosts, not for millions.
class MemoryFrontier {
 public:
  // Errors: kInvalidArgument, naming the option.
  [[nodiscard]] static Result<std::unique_ptr<Frontier>> create(const MemoryOptions& options = {});
};

}  // namespace trawl
