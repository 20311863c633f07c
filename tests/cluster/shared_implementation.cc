// The implementation of Frontier in Redis, for the tests that hold of each.
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "trawl/shared_frontier.h"

#include "base/frontier_decorator.h"
#include "tests/cluster/redis_servers.h"
#include "tests/frontier/conformance/implementations.h"

namespace trawl::test {

namespace {

constexpr std::uint32_t kBuckets = 4;

// One for all tests of a process: each has a crawl of its own.
RedisServer& server() {
  static RedisServer one({"--appendonly", "yes"});
  return one;
}

// The crawl of a directory: opened again it is the same one.
std::string crawl_of(const std::filesystem::path& directory) {
  return fmt::format("c{}", std::hash<std::string>()(directory.string()));
}

// The end of a crawl is found by looking at all of it, which takes a moment.
class WaitsForTheEnd final : public FrontierDecorator<WaitsForTheEnd> {
 public:
  explicit WaitsForTheEnd(std::unique_ptr<Frontier> frontier)
      : FrontierDecorator(std::move(frontier)) {}

  Result<Progress> progress() const override {
    // An idle crawler looks at least once a second.
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
    for (;;) {
      auto progress = inner().progress();
      const bool leased = progress && inner().stats()->leased > 0;
      if (!progress || progress->at_end() || leased || std::chrono::steady_clock::now() > until)
        return progress;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

 private:
  friend FrontierDecorator;
  template <class Call>
  auto forward(Call&& call) const {
    return call();
  }
};

// Alone, so that it owns everything.
Result<std::unique_ptr<Frontier>> open_shared(const EmbeddedOptions& given, OpenReport* report) {
  SharedOptions options{.directory = given.directory,
                        .cluster = {.redis = {"127.0.0.1:" + server().port()},
                                    .name = crawl_of(given.directory),
                                    .buckets = kBuckets,
                                    .takeover_after = std::chrono::seconds(2)},
                        .politeness = given.politeness,
                        .retry = given.retry,
                        .limits = given.limits,
                        .seen = given.seen,
                        .store = given.store,
                        .testing = given.testing};
  // It has neither; the filter's rate is small enough for tests.
  options.seen.mode = FilterMode::kBloom;
  options.seen.ledger = false;
  auto frontier = SharedFrontier::open(options, report);
  if (!frontier) return tl::unexpected(frontier.error());
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (;;) {
    const auto status = (*frontier)->cluster_status();
    if (status && status->owned == kBuckets) break;
    if (std::chrono::steady_clock::now() > until)
      return tl::unexpected(Error{ErrorCode::kUnavailable, "it does not own its buckets"});
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return std::make_unique<WaitsForTheEnd>(*std::move(frontier));
}

}  // namespace

const std::vector<Implementation>& implementations() {
  static const std::vector<Implementation> all = {{.name = "Shared",
                                                   .open = open_shared,
                                                   .is_durable = true,
                                                   .ends_follow_links = true,
                                                   .knows_outcomes = false}};
  return all;
}

}  // namespace trawl::test
