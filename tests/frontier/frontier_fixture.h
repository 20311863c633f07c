// What the frontier's tests share: a directory of their own, and shorthands for its calls.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trawl/embedded_frontier.h"

#include "tests/frontier/numbered_urls.h"
#include "tests/support/temporary_directory.h"

namespace trawl::test {

class FrontierFixture : public ::testing::Test {
 protected:
  // No delay, so that everything queued is due.
  EmbeddedOptions options() const {
    EmbeddedOptions options;
    options.directory = directory_.path() / "state";
    options.seen.expected_urls = 20'000;
    options.seen.false_positive_rate = 1e-9;
    options.politeness.delay = std::chrono::milliseconds(0);
    options.politeness.leases_per_host = 1'000'000;
    options.limits.lease_timeout = std::chrono::milliseconds(0);
    options.testing.hash = KeyedHash::from_seed(1);
    return options;
  }
  std::unique_ptr<Frontier> open() const { return open(options()); }
  static std::unique_ptr<Frontier> open(const EmbeddedOptions& options) {
    auto frontier = EmbeddedFrontier::open(options, &opened_);
    if (!frontier) throw std::runtime_error(frontier.error().message);
    return std::move(*frontier);
  }

  static std::vector<Admission> offer(Frontier& frontier, std::vector<std::string> urls) {
    return frontier.offer(Requests(std::move(urls)).get()).value();
  }
  static std::vector<Admission> offer_all(Frontier& frontier, const Requests& requests) {
    return frontier.offer(requests.get()).value();
  }
  static Admission offer_one(Frontier& frontier, const std::string& url) {
    return offer(frontier, std::vector{url}).front();
  }
  static std::vector<Admission> complete(Frontier& frontier, const Lease& lease,
                                         std::vector<std::string> links = {}) {
    return frontier.complete(lease.id, {.status = 200}, Requests(std::move(links)).get()).value();
  }
  static std::vector<std::string> urls_of(const std::vector<Lease>& leases) {
    std::vector<std::string> urls;
    for (const Lease& lease : leases)
      urls.push_back(lease.url);
    return urls;
  }
  static std::vector<Lease> lease(Frontier& frontier, std::size_t max) {
    return frontier.lease({.max = max}).value();
  }
  static std::vector<Lease> lease_all(Frontier& frontier) { return lease(frontier, 1'000'000); }

  static FrontierStats stats(const Frontier& frontier) { return frontier.stats().value(); }
  static Progress progress(const Frontier& frontier) { return frontier.progress().value(); }

  TemporaryDirectory directory_;
  inline static OpenReport opened_;  // by the last open()
};

}  // namespace trawl::test
