// Conformance: tests that hold of every implementation of Frontier.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/frontier/conformance/implementations.h"
#include "tests/frontier/frontier_calls.h"
#include "tests/frontier/virtual_clocks.h"
#include "tests/support/temporary_directory.h"

namespace trawl::test {

class Conformance : public ::testing::TestWithParam<Implementation>, protected FrontierCalls {
 protected:
  EmbeddedOptions options() const { return options_for(directory_.path() / "state"); }
  // By both clocks of the test, and with nothing left to chance.
  EmbeddedOptions timed_options() const {
    EmbeddedOptions timed = options();
    clocks_.use_in(timed);
    timed.testing.deterministic_seed = 5;
    timed.store.max_memory = kMinFrontierMemory;
    return timed;
  }
  std::unique_ptr<Frontier> open(const EmbeddedOptions& options) const {
    auto frontier = GetParam().open(options, nullptr);
    if (!frontier) throw std::runtime_error(frontier.error().message);
    return *std::move(frontier);
  }
  std::unique_ptr<Frontier> open() const { return open(options()); }
  // Another process goes on with it. One that is not durable stays, and lets go of its leases.
  void restart(std::unique_ptr<Frontier>& frontier, const EmbeddedOptions& options) {
    if (GetParam().is_durable) {
      frontier.reset();
      frontier = open(options);
    } else {
      for (const std::uint64_t id : leased_)
        static_cast<void>(frontier->release(id));
    }
    leased_.clear();
  }

  std::vector<Lease> lease(Frontier& frontier, std::size_t max) {
    auto leases = FrontierCalls::lease(frontier, max);
    for (const Lease& lease : leases)
      leased_.push_back(lease.id);
    return leases;
  }
  std::vector<Lease> lease_all(Frontier& frontier) { return lease(frontier, 1'000'000); }
  Lease lease_one(Frontier& frontier) {
    auto leases = lease_all(frontier);
    EXPECT_EQ(leases.size(), 1u);
    return leases.empty() ? Lease{} : leases.front();
  }
  static Admission offer_request(Frontier& frontier, const UrlRequest& request) {
    return frontier.offer({&request, 1}).value().at(0);
  }

  TemporaryDirectory directory_;
  VirtualClocks clocks_;

 private:
  std::vector<std::uint64_t> leased_;
};

// To be said of each suite.
#define TRAWL_CONFORMS(Suite)                                                              \
  INSTANTIATE_TEST_SUITE_P(Frontiers, Suite, ::testing::ValuesIn(test::implementations()), \
                           [](const auto& info) { return std::string(info.param.name); })

}  // namespace trawl::test
