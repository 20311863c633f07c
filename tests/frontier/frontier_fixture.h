// What the frontier's tests share: a directory of their own, and shorthands for its calls.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trawl/frontier.h"

#include "tests/frontier/numbered_urls.h"
#include "tests/support/temporary_directory.h"

namespace trawl::test {

class FrontierFixture : public ::testing::Test {
 protected:
  // No delay, so that everything queued is due.
  FrontierOptions options() const {
    FrontierOptions options;
    options.directory = directory_.path() / "state";
    options.expected_urls = 20'000;
    options.false_positive_rate = 1e-9;
    options.delay = std::chrono::milliseconds(0);
    options.leases_per_host = 1'000'000;
    options.lease_timeout = std::chrono::milliseconds(0);
    options.hash = KeyedHash::from_seed(1);
    return options;
  }
  std::unique_ptr<Frontier> open() const { return open(options()); }
  static std::unique_ptr<Frontier> open(const FrontierOptions& options) {
    auto frontier = Frontier::open(options);
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
    return frontier.lease(max).value();
  }
  static std::vector<Lease> lease_all(Frontier& frontier) { return lease(frontier, 1'000'000); }

  TemporaryDirectory directory_;
};

}  // namespace trawl::test
