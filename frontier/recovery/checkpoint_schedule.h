// CheckpointSchedule: takes checkpoints by time, by admissions and on request, on a thread of its
// own.
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
  // From the end of one to the beginning of the next; 0: none is taken because of the time. One is
  // left out if nothing was admitted since the newest checkpoint.
  std::chrono::milliseconds interval{0};
  std::uint64_t admissions = 0;  // since the newest checkpoint; 0: none is taken because of them

  // What the schedule calls, on its thread. `take` must return soon, with kClosed, once `give_up`
  // is true; that is not reported.
  std::function<Result<void>(const std::atomic<bool>& give_up)> take;
  // How many admissions the newest checkpoint has, whoever took it.
  std::function<std::uint64_t()> covered;
  std::function<void(const CheckpointEvent&)> report;  // may be empty
};

// Thread-safe. Without a plan by time or admissions it has no thread until one is requested. A
// checkpoint that failed is tried again after another interval, or as many admissions more.
class CheckpointSchedule {
 public:
  // `admitted` as below, by now.
  CheckpointSchedule(CheckpointPlan plan, std::uint64_t admitted);
  ~CheckpointSchedule() { stop(); }

  // There are `total` admissions now, all durable. Cheap. Of the committer, whose totals
  // only grow.
  void admitted(std::uint64_t total) noexcept {
    const OneAtATime::Use use(admitting_);
    assert(total >= admitted_.load(std::memory_order_relaxed));
    // seq_cst, here and where due() sets the limit and reads the total: either this call sees the
    // new limit, or that one the new total.
    admitted_.store(total, std::memory_order_seq_cst);
    if (total >= limit_.load(std::memory_order_seq_cst)) wake();
  }
  // A checkpoint soon, whether there is anything new or not. One that is being taken does not
  // count, several calls before it begins do as one.
  void request();
  // Takes no more, and has the one being taken, if any, given up; returns when the thread ended.
  // Not from its own callbacks.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  void begin();
  void schedule_next(Clock::time_point now) TRAWL_REQUIRES(mutex_);
  void wake() noexcept;
  // With the mutex, as the thread might have looked, and not wait yet: it would miss this.
  void notify() TRAWL_REQUIRES(mutex_) { changed_.notify_one(); }
  void start_thread() TRAWL_REQUIRES(mutex_);
  void run();
  bool due(Clock::time_point now) TRAWL_REQUIRES(mutex_);
  void take_one();
  void set_limit() TRAWL_REQUIRES(mutex_);

  const CheckpointPlan plan_;
  OneAtATime admitting_;
  std::atomic<std::uint64_t> admitted_;
  std::atomic<std::uint64_t> limit_{kNever};  // of admissions, from which one is due
  std::atomic<bool> stopping_{false};
  Mutex mutex_;
  Condition changed_;
  bool requested_ TRAWL_GUARDED_BY(mutex_) = false;
  std::optional<Clock::time_point> next_ TRAWL_GUARDED_BY(mutex_);  // by time
  std::uint64_t tried_ TRAWL_GUARDED_BY(mutex_) = 0;  // admissions at the last attempt
  std::thread thread_ TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
