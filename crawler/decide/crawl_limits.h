// CrawlLimits: the bytes a run may fetch, and the time it may take.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "crawler/decide/limit_portions.h"

namespace trawl {

// Which limit of the config ended a crawl.
enum class CrawlLimit : std::uint8_t { kPages, kBytes, kTime };
constexpr std::string_view key_of(CrawlLimit limit) {
  switch (limit) {
    case CrawlLimit::kPages:
      return "scope.max_pages";
    case CrawlLimit::kBytes:
      return "scope.max_bytes";
    case CrawlLimit::kTime:
      return "scope.max_time";
  }
  return "";
}

// scope.max_bytes and scope.max_time; pages are PageQuota's. Thread-safe.
class CrawlLimits {
 public:
  using Clock = std::chrono::steady_clock;

  // `bytes_before`: bytes of earlier runs, if they count.
  CrawlLimits(std::optional<std::uint64_t> max_bytes,
              std::optional<std::chrono::milliseconds> max_time, Clock::time_point started,
              std::uint64_t bytes_before = 0)
      : started_(started),
        max_bytes_(max_bytes.value_or(std::numeric_limits<std::uint64_t>::max())),
        end_(end_of(started, max_time)),
        bytes_(bytes_before) {}

  // From now on several crawlers share the limit of bytes. Call before anything is added. `shared`
  // must outlive the object.
  void share_bytes(LimitPortions& shared) { shared_ = &shared; }

  // Adds received bytes of a body. Returns true for the one call that reaches the limit; never if
  // several crawlers share it: LimitPortions::Calls::changed is called then.
  bool add_bytes(std::uint64_t n) {
    if (shared_ != nullptr) {
      bytes_.fetch_add(n, std::memory_order_relaxed);
      shared_->spend(n);
      return false;
    }
    const std::uint64_t before = bytes_.fetch_add(n, std::memory_order_relaxed);
    const std::uint64_t most = max_bytes_.load(std::memory_order_relaxed);
    return before < most && n >= most - before;
  }
  // By this crawler.
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // Nothing: there is no limit.
  std::optional<std::uint64_t> max_bytes() const {
    const std::uint64_t most = max_bytes_.load(std::memory_order_relaxed);
    return most == std::numeric_limits<std::uint64_t>::max() ? std::nullopt : std::optional(most);
  }
  // Returns nothing while the crawl may continue.
  std::optional<CrawlLimit> reached(Clock::time_point now) const {
    if (shared_ != nullptr ? shared_->used_up()
                           : bytes() >= max_bytes_.load(std::memory_order_relaxed))
      return CrawlLimit::kBytes;
    return now >= end_.load(std::memory_order_relaxed) ? std::optional(CrawlLimit::kTime)
                                                       : std::nullopt;
  }
  // When the time limit ends the crawl; nothing: never.
  std::optional<Clock::time_point> end() const {
    const Clock::time_point end = end_.load(std::memory_order_relaxed);
    return end == Clock::time_point::max() ? std::nullopt : std::optional(end);
  }
  // The time still counts from the start.
  void set(std::optional<std::uint64_t> max_bytes,
           std::optional<std::chrono::milliseconds> max_time) {
    if (shared_ != nullptr) shared_->set_limit(max_bytes);
    max_bytes_.store(max_bytes.value_or(std::numeric_limits<std::uint64_t>::max()),
                     std::memory_order_relaxed);
    end_.store(end_of(started_, max_time), std::memory_order_relaxed);
  }

 private:
  // A time too long for the clock counts as no limit.
  static Clock::time_point end_of(Clock::time_point started,
                                  std::optional<std::chrono::milliseconds> max_time) {
    const auto longest =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::time_point::max() - started);
    return !max_time || *max_time >= longest ? Clock::time_point::max() : started + *max_time;
  }

  LimitPortions* shared_ = nullptr;
  const Clock::time_point started_;
  std::atomic<std::uint64_t> max_bytes_;
  std::atomic<Clock::time_point> end_;  // max(): never
  std::atomic<std::uint64_t> bytes_;
};

}  // namespace trawl
