// PatientFrontier: a frontier whose errors are those that end a crawl.
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

#include "crawler/run/frontier_around.h"

namespace trawl {

// What is out of reach for now (kUnavailable) is tried again, with growing waits, until it is there
// or the caller gives up: the calling thread waits meanwhile, as there is nothing else it could do.
// Only lease() says at once that there is nothing, and progress() that it is not over. A thread
// that may not wait calls at_once().
class PatientFrontier final : public FrontierAround<PatientFrontier> {
 public:
  // `gives_up`: a call that waits is to return the error.
  PatientFrontier(std::unique_ptr<Frontier> frontier, std::function<bool()> gives_up)
      : FrontierAround(std::move(frontier)), gives_up_(std::move(gives_up)) {}

  // The same frontier, without the patience.
  Frontier& at_once() const { return within(); }

  Result<std::vector<Lease>> lease(const LeaseRequest& request) override;
  Result<Progress> progress() const override;
  Result<std::optional<SteadyTime>> next_due(std::optional<std::uint32_t> shard) const override;

  template <class T>
  static bool is_out_of_reach(const Result<T>& result) {
    return !result && result.error().code == ErrorCode::kUnavailable;
  }

 private:
  friend FrontierAround;

  static constexpr std::chrono::milliseconds kFirstWait{10};
  static constexpr std::chrono::milliseconds kLongestWait{500};

  template <class Call>
  auto through(Call&& call) const {
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
  // It is said once, and once that it is over.
  void note(const Error& error) const;
  void note_reached() const;

  const std::function<bool()> gives_up_;
  mutable std::atomic<bool> out_of_reach_{false};
};

}  // namespace trawl
