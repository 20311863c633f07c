// HeldUrlRequeuer: queues the URLs of origins that are no longer held. Finding them reads all URLs
// that are set aside, which may take many seconds, so it runs rarely, on its own thread, and for
// all origins together.
#pragma once

#include <atomic>
#include <chrono>
#include <future>

#include "trawl/frontier.h"

#include "base/one_thread.h"
#include "crawler/run/held_origins.h"

namespace trawl {

// Not thread-safe.
class HeldUrlRequeuer {
 public:
  // `frontier` and `origins` must outlive the object.
  HeldUrlRequeuer(Frontier& frontier, HeldOrigins& origins)
      : frontier_(frontier), origins_(origins) {}

  // Starts the work if there are URLs to offer and it is time, which it always is if `idle`
  // (nothing else is left to do). Call often. Returns whether the work is in progress. Errors:
  // those of the frontier.
  Result<bool> run_step(bool idle);
  // Ends the work early and waits for that; the remaining URLs stay held.
  Result<void> stop();

 private:
  Result<void> finish();
  Result<void> offer(const HeldOrigins::Set& released) const;

  Frontier& frontier_;
  HeldOrigins& origins_;
  OneAtATime using_;
  std::chrono::steady_clock::time_point began_{};
  std::chrono::steady_clock::time_point next_{};  // no work before this time
  std::atomic<bool> stopping_{false};
  std::future<Result<void>> work_;
};

}  // namespace trawl
