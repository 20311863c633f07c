// HeldOffers: queues URLs of origins again that are held no longer. Finding them reads all that is
// set aside, which may take many seconds: so it is done on a thread of its own, for all origins at
// once, and rarely.
#pragma once

#include <atomic>
#include <chrono>
#include <future>

#include "trawl/frontier.h"

#include "base/one_thread.h"
#include "crawler/run/held_origins.h"

namespace trawl {

// Not thread-safe.
class HeldOffers {
 public:
  // Both outlive it.
  HeldOffers(Frontier& frontier, HeldOrigins& origins) : frontier_(frontier), origins_(origins) {}

  // Begins if there is something to be offered and it is time; it always is if `idle`: there is
  // nothing else to do. To be called often. Returns whether it is at work. Errors: those of the
  // frontier.
  Result<bool> go_on(bool idle);
  // Waits until it is not at work any more, done or not: the rest stays held.
  Result<void> stop();

 private:
  Result<void> finish();
  Result<void> offer(const HeldOrigins::Set& released) const;

  Frontier& frontier_;
  HeldOrigins& origins_;
  OneAtATime using_;
  std::chrono::steady_clock::time_point began_{};
  std::chrono::steady_clock::time_point next_{};  // not before
  std::atomic<bool> stopping_{false};
  std::future<Result<void>> work_;
};

}  // namespace trawl
