// RetryingFrontier: waits while the wrapped frontier is out of reach, so that every error it
// returns ends the crawl.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/frontier_decorator.h"

namespace trawl {

// A call that fails with kUnavailable is repeated, with growing waits, until it succeeds or the
// caller gives up. The calling thread waits, having nothing else to do. Only lease(), which returns
// no leases, and progress(), which says that the crawl is not over, return immediately. A thread
// that must not wait uses without_retries().
class RetryingFrontier final : public FrontierDecorator<RetryingFrontier> {
 public:
  // `gives_up` returns true if a waiting call is to return the error.
  RetryingFrontier(std::unique_ptr<Frontier> frontier, std::function<bool()> gives_up)
      : FrontierDecorator(std::move(frontier)), gives_up_(std::move(gives_up)) {}

  // The same frontier, without waiting.
  Frontier& without_retries() const { return inner(); }

  Result<std::vector<Lease>> lease(const LeaseRequest& request) override;
  Result<Progress> progress() const override;
  Result<std::optional<SteadyTime>> next_due(std::optional<std::uint32_t> shard) const override;

  template <class T>
  static bool is_out_of_reach(const Result<T>& result) {
    return !result && result.error().code == ErrorCode::kUnavailable;
  }

 private:
  friend FrontierDecorator;

  static constexpr std::chrono::milliseconds kFirstWait{10};
  static constexpr std::chrono::milliseconds kLongestWait{500};

  template <class Call>
  auto forward(Call&& call) const {
    for (auto wait = kFirstWait;; wait = std::min(2 * wait, kLongestWait)) {
      auto result = call();
      if (!is_out_of_reach(result)) {
        note_reached();
        return result;
      }
      note(result.error());
      if (gives_up_()) return result;
      std::this_thread::sleep_for(wait);
    }
  }
  // Logs an outage once when it begins, and once when it ends.
  void note(const Error& error) const;
  void note_reached() const;

  const std::function<bool()> gives_up_;
  mutable std::atomic<bool> out_of_reach_{false};
};

}  // namespace trawl
