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

Result<std::unique_ptr<Frontier>> open_with_ends_that_follow(const EmbeddedOptions& given,
                                                             OpenReport* report) {
  EmbeddedOptions options = given;
  options.testing.ends_follow_links = true;
  return EmbeddedFrontier::open(options, report);
}

}  // namespace

const std::vector<Implementation>& implementations() {
  static const std::vector<Implementation> all = {
      {.name = "Embedded", .open = EmbeddedFrontier::open, .is_durable = true},
      {.name = "EmbeddedEndsFollow",
       .open = open_with_ends_that_follow,
       .is_durable = true,
       .ends_follow_links = true},
      {.name = "Memory", .open = open_memory, .is_durable = false},
  };
  return all;
}

}  // namespace trawl::test
