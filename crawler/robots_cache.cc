#include "crawler/robots_cache.h"

#include <fmt/format.h>

namespace trawl {

namespace {

constexpr std::chrono::hours kMaxAge{24};

}  // namespace

RobotsVerdict read_robots_response(const HttpResponse& response) {
  if (!response.error.empty()) {
    return {.robots = std::nullopt, .reason = "robots.txt: " + response.error};
  }
  const int status = response.status;
  if (status >= 200 && status < 300) return {.robots = Robots::parse(response.body), .reason = ""};
  // A redirect that was not followed to its end is "unavailable", as a 4xx is.
  if (status >= 300 && status < 500 && status != 429) {
    return {.robots = Robots::allow_all(), .reason = ""};
  }
  return {.robots = std::nullopt,
          .reason = fmt::format("robots.txt: status {}, so that nothing may be fetched", status)};
}

const Robots* RobotsCache::find(const std::string& origin, Time now) {
  const auto it = entries_.find(origin);
  if (it == entries_.end() || now - it->second.fetched > kMaxAge) return nullptr;
  Entry& entry = it->second;
  if (entry.use) {
    by_use_.splice(by_use_.begin(), by_use_, *entry.use);
    return &entry.robots;
  }
  if (by_use_.size() >= capacity_) {
    entries_.erase(by_use_.back());
    by_use_.pop_back();
  }
  by_use_.push_front(origin);
  entry.use = by_use_.begin();
  return &entry.robots;
}

void RobotsCache::store(const std::string& origin, Robots robots, Time now) {
  if (const auto it = entries_.find(origin); it != entries_.end()) {
    it->second.robots = std::move(robots);
    it->second.fetched = now;
    // Whoever had them fetched has yet to ask for them.
    if (it->second.use) by_use_.erase(*it->second.use);
    it->second.use.reset();
    return;
  }
  entries_.emplace(origin, Entry{.robots = std::move(robots), .fetched = now, .use = std::nullopt});
}

}  // namespace trawl
