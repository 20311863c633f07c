#include "frontier/common/wake_notifier.h"

#include <algorithm>
#include <cassert>
#include <thread>
#include <utility>

namespace trawl {

namespace {

// Waiting threads check at least this often whether the frontier was stopped.
constexpr std::chrono::seconds kLongestWait{1};
// A URL that is due already may need a moment until it is queued.
constexpr std::chrono::milliseconds kShortestWait{1};

}  // namespace

SteadyTime wait_for_due(std::optional<SteadyTime> due, SteadyTime now, bool real_clock) {
  const SteadyTime real = std::chrono::steady_clock::now();
  if (!real_clock) return real + kShortestWait;
  if (!due) return real + kLongestWait;
  return std::clamp(*due, std::max(now, real) + kShortestWait,
                    std::max(now, real) + SteadyTime::duration(kLongestWait));
}

void WakeNotifier::set(Callback callback, std::optional<std::uint32_t> shard) {
  const WriterLock lock(callbacks_);
  assert(!shard || *shard < of_shards_.size());
  (shard ? of_shards_[*shard] : of_all_) = std::move(callback);
  const bool any = of_all_ || std::ranges::any_of(of_shards_, [](const Callback& one) {
                     return static_cast<bool>(one);
                   });
  // Relaxed: a thread that sees the old value announced before this call returned.
  has_callbacks_.store(any, std::memory_order_relaxed);
}

void WakeNotifier::announce(std::uint32_t shard) {
  if (has_callbacks_.load(std::memory_order_relaxed)) {
    const ReaderLock lock(callbacks_);
    assert(shard < of_shards_.size());
    if (of_shards_[shard]) of_shards_[shard]();
    if (of_all_) of_all_();
  }
  wake_waiters();
}

void WakeNotifier::announce_due() {
  const ReaderLock lock(callbacks_);
  if (of_all_) of_all_();
}

void WakeNotifier::wake_waiters() {
  // seq_cst: pairs with the fence in Waiter(): either this call sees the waiter, or the waiter sees
  // everything that happened before this call.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (waiting_.load(std::memory_order_relaxed) == 0) return;
  {
    const MutexLock lock(mutex_);
    ++announcements_;
  }
  announced_.notify_all();
}

WakeNotifier::Waiter::Waiter(WakeNotifier& calls) : calls_(calls) {
  calls_.waiting_.fetch_add(1, std::memory_order_relaxed);
  // seq_cst: pairs with the fence in wake_waiters().
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

WakeNotifier::Waiter::~Waiter() {
  [[maybe_unused]] const std::uint32_t before =
      calls_.waiting_.fetch_sub(1, std::memory_order_relaxed);
  assert(before > 0);
}

std::uint64_t WakeNotifier::Waiter::announcements() const {
  const MutexLock lock(calls_.mutex_);
  return calls_.announcements_;
}

void WakeNotifier::Waiter::wait_until(SteadyTime time, std::uint64_t announcements) {
  const MutexLock lock(calls_.mutex_);
  while (calls_.announcements_ == announcements &&
         calls_.announced_.wait_until(calls_.mutex_, time)) {
  }
}

WakeTimer::WakeTimer(WakeNotifier& calls, std::function<std::optional<SteadyTime>()> next_due,
                     std::function<SteadyTime()> now, bool real_clock)
    : calls_(calls),
      next_due_(std::move(next_due)),
      now_(std::move(now)),
      real_clock_(real_clock),
      thread_([this] { run(); }) {}

WakeTimer::~WakeTimer() {
  // Relaxed: wake_waiters() orders it for the waiting thread.
  stopping_.store(true, std::memory_order_relaxed);
  calls_.wake_waiters();
  thread_.join();
}

// After announcements it rests for a moment, in which none wakes it: that would cost more than a
// lease, and frontiers that are busy announce at each one.
void WakeTimer::run() {
  while (announce_until_news())
    std::this_thread::sleep_for(kShortestWait);
}

// Repeats the announcement of a due URL that no thread leases, at growing intervals, since a thread
// may have asked a moment too early. Returns after another's announcement; false: at the end.
bool WakeTimer::announce_until_news() {
  WakeNotifier::Waiter waiter(calls_);
  const std::uint64_t announcements = waiter.announcements();
  std::chrono::milliseconds pause{0};
  while (!stopping_.load(std::memory_order_relaxed)) {
    const std::optional<SteadyTime> due = next_due_();
    const SteadyTime now = now_();
    if (due && *due <= now) {
      pause = std::clamp<std::chrono::milliseconds>(2 * pause, kShortestWait, kLongestWait);
      calls_.announce_due();
      waiter.wait_until(std::chrono::steady_clock::now() + pause, announcements);
    } else {
      pause = std::chrono::milliseconds(0);
      waiter.wait_until(wait_for_due(due, now, real_clock_), announcements);
    }
    if (waiter.announcements() != announcements) return true;
  }
  return false;
}

Result<std::vector<Lease>> lease_and_wait(WakeNotifier& calls, const LeaseRequest& request,
                                          const LeaseCalls& frontier) {
  auto leases = frontier.lease_now();
  const auto got_some = [&] { return !leases || !leases->empty() || request.max == 0; };
  if (request.wait.count() <= 0 || got_some()) return leases;
  const SteadyTime end = std::chrono::steady_clock::now() + std::min(request.wait, kMaxDelay);
  WakeNotifier::Waiter waiter(calls);
  for (;;) {
    const std::uint64_t announcements = waiter.announcements();
    leases = frontier.lease_now();
    if (got_some() || std::chrono::steady_clock::now() >= end) return leases;
    const auto how_far = frontier.progress();
    if (how_far && (how_far->finished || how_far->exhausted)) return leases;
    const SteadyTime due = wait_for_due(frontier.next_due(), frontier.now(), frontier.real_clock);
    waiter.wait_until(std::min(end, due), announcements);
  }
}

}  // namespace trawl
