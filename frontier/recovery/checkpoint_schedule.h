// CheckpointSchedule: a thread that takes checkpoints by time, by admissions and on request.
#pragma once

#include <atomic>
#include <cassert>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <thread>

#include "trawl/embedded_options.h"

#include "base/mutex.h"
#include "base/one_thread.h"

namespace trawl {

struct CheckpointPlan {
  // From the end of a checkpoint to the beginning of the next; 0 disables it. Skipped if nothing
  // was admitted since the newest checkpoint.
  std::chrono::milliseconds interval{0};
  std::uint64_t admissions = 0;  // since the newest checkpoint; 0 disables it

  // The schedule calls these on its thread. `take` must return kClosed soon after `give_up` becomes
  // true; that result is not reported.
  std::function<Result<void>(const std::atomic<bool>& give_up)> take;
  // The number of admissions in the newest checkpoint, whether the schedule took it or not.
  std::function<std::uint64_t()> covered;
  std::function<void(const CheckpointEvent&)> report;  // may be empty
};

// Thread-safe. Without a plan by time or admissions the thread starts with the first request. A
// failed checkpoint is retried after another interval, or after as many further admissions.
class CheckpointSchedule {
 public:
  // `admitted` is the current total of admissions.
  CheckpointSchedule(CheckpointPlan plan, std::uint64_t admitted);
  ~CheckpointSchedule() { stop(); }

  // Reports that there are `total` durable admissions. Cheap. Called by the committer, whose totals
  // only grow.
  void admitted(std::uint64_t total) noexcept {
    const OneAtATime::Use use(admitting_);
    assert(total >= admitted_.load(std::memory_order_relaxed));
    // seq_cst, pairs with due(), which sets the limit and then reads the total: either this call
    // sees the new limit, or due() sees the new total.
    admitted_.store(total, std::memory_order_seq_cst);
    if (total >= limit_.load(std::memory_order_seq_cst)) wake();
  }
  // Requests a checkpoint soon, even if nothing is new. Several requests before it begins count as
  // one; a checkpoint that is already running does not satisfy a request.
  void request();
  // Takes no more checkpoints, aborts a running one, and returns when the thread has ended. Must
  // not be called from the callbacks.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  void begin();
  void schedule_next(Clock::time_point now) TRAWL_REQUIRES(mutex_);
  void wake() noexcept;
  // Requires the mutex: otherwise the thread could miss this between its check and its wait.
  void notify() TRAWL_REQUIRES(mutex_) { changed_.notify_one(); }
  void start_thread() TRAWL_REQUIRES(mutex_);
  void run();
  bool due(Clock::time_point now) TRAWL_REQUIRES(mutex_);
  void take_one();
  void set_limit() TRAWL_REQUIRES(mutex_);

  const CheckpointPlan plan_;
  OneAtATime admitting_;
  std::atomic<std::uint64_t> admitted_;
  std::atomic<std::uint64_t> limit_{kNever};  // number of admissions at which a checkpoint is due
  std::atomic<bool> stopping_{false};
  Mutex mutex_;
  Condition changed_;
  bool requested_ TRAWL_GUARDED_BY(mutex_) = false;
  std::optional<Clock::time_point> next_ TRAWL_GUARDED_BY(mutex_);  // by time
  std::uint64_t tried_ TRAWL_GUARDED_BY(mutex_) = 0;  // admissions at the last attempt
  std::thread thread_ TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
