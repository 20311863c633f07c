// URLs made from numbers, and requests that keep their URLs alive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "trawl/frontier.h"

namespace trawl::test {

// URL n of a small web of `hosts` hosts.
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

}  // namespace trawl::test
