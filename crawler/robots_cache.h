// RobotsCache: what the robots.txt of each origin allows, as one fetcher thread has learnt it.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trawl/robots.h"

#include "crawler/http/http_client.h"

namespace trawl {

// What a response to a request for robots.txt means (RFC 9309 section 2.3.1): rules; or, for any
// 4xx but 429, no rules at all. Nothing if the site cannot be asked now (429, 5xx, no response):
// then nothing may be fetched, and `reason` says why.
struct RobotsVerdict {
  std::optional<Robots> robots;
  std::string reason;
};
RobotsVerdict read_robots_response(const HttpResponse& response);

// Keeps the most recently used origins, and beyond its capacity those not asked for since they
// were stored: a URL that waits for its rules must find them when its turn comes, however many
// other origins are fetched meanwhile. Used by one thread.
class RobotsCache {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `capacity` origins that were asked for are kept; at least 1.
  explicit RobotsCache(std::size_t capacity) : capacity_(capacity) {}

  // The rules of an origin ("http://example.com:8080"), or null if they are not known or were
  // fetched more than a day ago (RFC 9309 section 2.4). Valid until the next call.
  const Robots* find(const std::string& origin, Time now);
  void store(const std::string& origin, Robots robots, Time now);
  std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    Robots robots;
    Time fetched;
    std::optional<std::list<std::string>::iterator> use;  // once asked for
  };
  const std::size_t capacity_;
  std::list<std::string> by_use_;  // most recent first
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace trawl
