// WakeCalls: tells callbacks, and threads that wait in lease(), that something may be leased.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "trawl/clocks.h"
#include "trawl/lease.h"
#include "trawl/result.h"

#include "base/mutex.h"

namespace trawl {

// Thread-safe. The callbacks must not call it.
class WakeCalls {
 public:
  using Callback = std::function<void()>;

  explicit WakeCalls(std::uint32_t shards) : of_shards_(shards) {}

  // In place of the one before, which is not called any more when this returns. Empty: none. Of all
  // shards, or of one.
  void set(Callback callback, std::optional<std::uint32_t> shard);

  // Something may be leased from the shard that could not be before, or nothing more will be.
  void announce(std::uint32_t shard);
  // A delay has passed: for the callback of all shards.
  void announce_due();
  // For the waiting threads alone: what they wait for may be another now.
  void poke();

  // A thread that waits, from the construction on: what is announced after it is not missed.
  class Waiter {
   public:
    explicit Waiter(WakeCalls& calls);
    ~Waiter();
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    // To be read before the thread looks for what it waits for.
    std::uint64_t announcements() const;
    // Returns at `time`, or when there were others than these.
    void wait_until(SteadyTime time, std::uint64_t announcements);

   private:
    WakeCalls& calls_;
  };

 private:
  SharedMutex callbacks_;  // shared while one is called
  Callback of_all_ TRAWL_GUARDED_BY(callbacks_);
  std::vector<Callback> of_shards_ TRAWL_GUARDED_BY(callbacks_);
  std::atomic<bool> has_callbacks_{false};
  std::atomic<std::uint32_t> waiting_{0};
  Mutex mutex_;
  Condition announced_;
  std::uint64_t announcements_ TRAWL_GUARDED_BY(mutex_) = 0;
};

// Announces when delays have passed, on a thread of its own.
class WakeTimer {
 public:
  // `next_due`: when something is due; nothing: only an announcement changes that. `now`: by the
  // same clock; if it is not the real one it is looked at all the time.
  WakeTimer(WakeCalls& calls, std::function<std::optional<SteadyTime>()> next_due,
            std::function<SteadyTime()> now, bool real_clock);
  ~WakeTimer();

 private:
  void run();

  WakeCalls& calls_;
  const std::function<std::optional<SteadyTime>()> next_due_;
  const std::function<SteadyTime()> now_;
  const bool real_clock_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

// What lease() is made of.
struct LeaseCalls {
  std::function<Result<std::vector<Lease>>()> lease_now;
  std::function<Result<Progress>()> progress;
  std::function<std::optional<SteadyTime>()> next_due;
  std::function<SteadyTime()> now;
  bool real_clock = true;
};
// Leases as soon as there are some: see LeaseRequest::wait.
Result<std::vector<Lease>> lease_and_wait(WakeCalls& calls, const LeaseRequest& request,
                                          const LeaseCalls& frontier);

// How long a thread may wait for `due`, which is by the clock that shows `now`; that of others than
// the real clock nobody knows.
SteadyTime wait_for_due(std::optional<SteadyTime> due, SteadyTime now, bool real_clock);

}  // namespace trawl
