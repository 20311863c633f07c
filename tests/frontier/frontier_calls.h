// Shorthands for the calls of a frontier.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "trawl/embedded_options.h"
#include "trawl/frontier.h"

#include "tests/frontier/numbered_urls.h"

namespace trawl::test {

class FrontierCalls {
 protected:
  // No delay, so that everything queued is due.
  static EmbeddedOptions options_for(const std::filesystem::path& directory) {
    EmbeddedOptions options;
    options.directory = directory;
    options.seen.expected_urls = 20'000;
    options.seen.false_positive_rate = 1e-9;
    options.politeness.delay = std::chrono::milliseconds(0);
    options.politeness.leases_per_host = 1'000'000;
    options.limits.lease_timeout = std::chrono::milliseconds(0);
    options.testing.hash = KeyedHash::from_seed(1);
    return options;
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
};

}  // namespace trawl::test
