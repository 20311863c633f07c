// What the frontier's tests share: a directory of their own, and shorthands for its calls.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trawl/frontier.h"

#include "tests/support/temporary_directory.h"

namespace trawl::test {

// Owns the strings of requests made from numbers: URL n of a small web of `hosts` hosts.
class NumberedUrls {
 public:
  explicit NumberedUrls(std::uint64_t hosts = 1) : hosts_(hosts) {}

  std::string url(std::uint64_t n) const {
    return fmt::format("http://host{}.test/page/{}", n % hosts_, n);
  }
  static std::uint64_t number(std::string_view url) {
    return std::stoull(std::string(url.substr(url.rfind('/') + 1)));
  }

 private:
  std::uint64_t hosts_;
};

// Requests that keep their URLs alive.
class Requests {
 public:
  Requests() = default;
  explicit Requests(std::vector<std::string> urls) : urls_(std::move(urls)) {}
  void add(std::string url) { urls_.push_back(std::move(url)); }
  std::vector<UrlRequest> get() const {
    std::vector<UrlRequest> requests;
    for (const std::string& url : urls_)
      requests.push_back({.url = url});
    return requests;
  }

 private:
  std::vector<std::string> urls_;
};

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
