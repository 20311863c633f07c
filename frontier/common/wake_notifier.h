// WakeNotifier: notifies callbacks, and threads waiting in lease(), that a URL may be leased.
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
class WakeNotifier {
 public:
  using Callback = std::function<void()>;

  explicit WakeNotifier(std::uint32_t shards) : of_shards_(shards) {}

  // Replaces the callback of all shards or of one; empty removes it. After the return the previous
  // callback is never called again.
  void set(Callback callback, std::optional<std::uint32_t> shard);

  // A URL of the shard may have become leasable, or the end was reached.
  void announce(std::uint32_t shard);
  // A delay has passed. Calls only the callback of all shards.
  void announce_due();
  // Wakes only the waiting threads: their next due time may have changed.
  void wake_waiters();

  // A waiting thread. It misses no announcement made after construction.
  class Waiter {
   public:
    explicit Waiter(WakeNotifier& calls);
    ~Waiter();
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    // Must be read before the thread checks its condition.
    std::uint64_t announcements() const;
    // Returns at `time`, or when the number of announcements is no longer `announcements`.
    void wait_until(SteadyTime time, std::uint64_t announcements);

   private:
    WakeNotifier& calls_;
  };

 private:
  SharedMutex callbacks_;  // held shared during a call
  Callback of_all_ TRAWL_GUARDED_BY(callbacks_);
  std::vector<Callback> of_shards_ TRAWL_GUARDED_BY(callbacks_);
  std::atomic<bool> has_callbacks_{false};
  std::atomic<std::uint32_t> waiting_{0};
  Mutex mutex_;
  Condition announced_;
  std::uint64_t announcements_ TRAWL_GUARDED_BY(mutex_) = 0;
};

// A thread that announces when delays have passed.
class WakeTimer {
 public:
  // `next_due` returns when the next URL is due; empty: only an announcement changes that. `now`
  // reads the same clock. A clock other than the real one is polled.
  WakeTimer(WakeNotifier& calls, std::function<std::optional<SteadyTime>()> next_due,
            std::function<SteadyTime()> now, bool real_clock);
  ~WakeTimer();

 private:
  void run();
  bool announce_until_news();

  WakeNotifier& calls_;
  const std::function<std::optional<SteadyTime>()> next_due_;
  const std::function<SteadyTime()> now_;
  const bool real_clock_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

// The operations that lease_and_wait() uses.
struct LeaseCalls {
  std::function<Result<std::vector<Lease>>()> lease_now;
  std::function<Result<Progress>()> progress;
  std::function<std::optional<SteadyTime>()> next_due;
  std::function<SteadyTime()> now;
  bool real_clock = true;
};
// Leases as soon as a URL is due: see LeaseRequest::wait.
Result<std::vector<Lease>> lease_and_wait(WakeNotifier& calls, const LeaseRequest& request,
                                          const LeaseCalls& frontier);

// When a thread that waits for `due` has to look again. `due` and `now` are times of the frontier's
// clock; how fast a clock other than the real one runs is unknown.
SteadyTime wait_for_due(std::optional<SteadyTime> due, SteadyTime now, bool real_clock);

}  // namespace trawl
