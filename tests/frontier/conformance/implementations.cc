#include "tests/frontier/conformance/implementations.h"

#include "trawl/memory_frontier.h"

namespace trawl::test {

namespace {

Result<std::unique_ptr<Frontier>> open_memory(const EmbeddedOptions& options, OpenReport*) {
  return MemoryFrontier::create({.politeness = options.politeness,
                                 .retry = options.retry,
                                 .limits = options.limits,
                                 .profile = options.seen.profile,
                                 .clock = options.testing.clock,
                                 .wall_clock = options.testing.wall_clock,
                                 .seed = options.testing.deterministic_seed.value_or(1)});
}

}  // namespace

const std::vector<Implementation>& implementations() {
  static const std::vector<Implementation> all = {
      {.name = "Embedded", .open = EmbeddedFrontier::open, .is_durable = true},
      {.name = "Memory", .open = open_memory, .is_durable = false},
  };
  return all;
}

}  // namespace trawl::test
