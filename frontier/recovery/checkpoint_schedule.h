// CheckpointSchedule: a thread that takes checkpoints when CheckpointRule says so.
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
#include "frontier/recovery/checkpoint_rule.h"

namespace trawl {

struct CheckpointPlan {
  CheckpointRule rule;
  double replayed_per_second = 0;  // CheckpointState
  // How long close() waits for a checkpoint that nobody requested.
  std::chrono::milliseconds patience{3'000};

  // The schedule calls these on its thread. `take` must return kClosed soon after `give_up` becomes
  // true; that result is not reported.
  std::function<Result<void>(const std::atomic<bool>& give_up)> take;
  // The number of admissions in the newest checkpoint, whether the schedule took it or not.
  std::function<std::uint64_t()> covered;
  std::function<void(const CheckpointEvent&)> report;  // may be empty
};

// Thread-safe.
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
    // seq_cst, pairs with look(), which sets the limit and then reads the total: either this call
    // sees the new limit, or look() sees the new total.
    admitted_.store(total, std::memory_order_seq_cst);
    if (total >= limit_.load(std::memory_order_seq_cst)) wake();
  }
  // Requests a checkpoint soon; if nothing is new, none is written, and the report says so. Several
  // requests before it begins count as one; a checkpoint that is already running does not satisfy a
  // request.
  void request();
  // The end by the same rule: takes the checkpoint that is due, if one is, and ends the thread. One
  // that was requested is waited for; any other is given up after `patience`, since the log that it
  // saves can be replayed instead. Must not be called from the callbacks. Errors: those of a
  // checkpoint that failed meanwhile.
  Result<void> close();
  // Takes no more checkpoints, aborts a running one, and returns when the thread has ended. Must
  // not be called from the callbacks.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  enum class Running : std::uint8_t { kNone, kAutomatic, kRequested };
  struct Taken {
    Result<void> result;
    bool given_up;
    std::optional<Clock::time_point> end;  // empty if nothing was written
  };

  void begin();
  void wake() noexcept;
  // Requires the mutex: otherwise the thread could miss this between its check and its wait.
  void notify() TRAWL_REQUIRES(mutex_) { changed_.notify_all(); }
  void run();
  void wait() TRAWL_REQUIRES(mutex_);
  // Whether a checkpoint is due now.
  bool look() TRAWL_REQUIRES(mutex_);
  // Both report.
  Taken take_one();
  Taken answer_request() const;
  void finish(const Taken& taken) TRAWL_REQUIRES(mutex_);
  static void join(std::thread thread);

  const CheckpointPlan plan_;
  OneAtATime admitting_;
  std::atomic<std::uint64_t> admitted_;
  std::atomic<std::uint64_t> limit_{kNever};  // number of admissions at which a checkpoint is due
  std::atomic<bool> give_up_{false};
  Mutex mutex_;
  Condition changed_;
  bool requested_ TRAWL_GUARDED_BY(mutex_) = false;
  bool closing_ TRAWL_GUARDED_BY(mutex_) = false;
  bool stopping_ TRAWL_GUARDED_BY(mutex_) = false;
  bool patient_ TRAWL_GUARDED_BY(mutex_) = true;
  bool ended_ TRAWL_GUARDED_BY(mutex_) = false;
  Running running_ TRAWL_GUARDED_BY(mutex_) = Running::kNone;
  Result<void> closing_result_ TRAWL_GUARDED_BY(mutex_);
  Clock::time_point newest_ TRAWL_GUARDED_BY(mutex_);  // the end of the last attempt
  std::optional<Clock::time_point> failed_ TRAWL_GUARDED_BY(mutex_);
  std::thread thread_ TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
