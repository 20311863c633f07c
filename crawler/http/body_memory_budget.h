// BodyMemoryBudget: the memory that the bodies of all threads may take, from the first byte
// received to the last one written, together with tables that grow with the crawl. BodyCharge: the
// memory of one body. TableCharge: the memory of a table.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace trawl {

class BodyMemoryBudget;

// Returns its memory when destroyed. Not thread-safe; the budget is.
class BodyCharge {
 public:
  BodyCharge() = default;
  // With a null budget, everything is granted and not counted.
  explicit BodyCharge(std::shared_ptr<BodyMemoryBudget> budget) noexcept
      : budget_(std::move(budget)) {}
  BodyCharge(BodyCharge&& other) noexcept
      : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}
  BodyCharge& operator=(BodyCharge&& other) noexcept;
  ~BodyCharge() { release(); }

  // Takes `more` bytes; returns false and takes nothing if there is no room.
  bool grow(std::uint64_t more) noexcept;
  // Returns all memory beyond `bytes`.
  void shrink_to(std::uint64_t bytes) noexcept;
  void release() noexcept { shrink_to(0); }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  friend class BodyMemoryBudget;
  std::shared_ptr<BodyMemoryBudget> budget_;
  std::uint64_t bytes_ = 0;
};

// A transfer that waits for memory. Must not move while it waits.
struct BodyWaiter {
  enum class State : std::uint8_t {
    kIdle,
    kWaiting,
    kGranted,  // the charge has grown by `wanted`
    kEvicted,  // must end and release its charge, since nothing else would free memory
  };
  BodyCharge* charge = nullptr;
  std::uint64_t wanted = 0;
  std::chrono::steady_clock::time_point since{};  // older waiters go first, the youngest is evicted
  // Called from any thread, with the budget's lock held, when the state has changed.
  void (*wake)(void* context) = nullptr;
  void* context = nullptr;

 private:
  friend class BodyMemoryBudget;
  State state = State::kIdle;  // see BodyMemoryBudget::state_of()
};

// M1: bodies wait for room instead of exceeding the limit. Thread-safe.
class BodyMemoryBudget {
 public:
  // Tables always leave `for_bodies` of `limit` to bodies.
  explicit BodyMemoryBudget(std::uint64_t limit, std::uint64_t for_bodies = 0)
      : limit_(limit), for_bodies_(std::min(for_bodies, limit)) {}
  BodyMemoryBudget(const BodyMemoryBudget&) = delete;
  BodyMemoryBudget& operator=(const BodyMemoryBudget&) = delete;

  std::uint64_t limit() const noexcept { return limit_; }
  // A body of this size always fits, once other bodies are freed.
  std::uint64_t for_bodies() const noexcept { return for_bodies_; }
  // Used by bodies.
  std::uint64_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  // Used by tables.
  std::uint64_t held() const noexcept { return held_.load(std::memory_order_relaxed); }
  // Some transfers wait for room: do not start others now.
  bool crowded() const noexcept { return waiting_.load(std::memory_order_relaxed) > 0; }

  // Grants the waiter's request now, or as soon as there is room. If all used memory belongs to
  // waiters, the youngest that holds memory is evicted.
  void wait(BodyWaiter& waiter);
  // The waiter's state. Unless it is kWaiting, the budget no longer refers to the waiter.
  BodyWaiter::State state(const BodyWaiter& waiter) const;
  // Ends the wait. Memory that was granted stays with the charge.
  void cancel(BodyWaiter& waiter);

 private:
  friend class BodyCharge;
  friend class TableCharge;
  std::uint64_t room() const noexcept;
  void hold(std::uint64_t bytes) noexcept;
  void let_go(std::uint64_t bytes) noexcept;
  bool take(std::uint64_t bytes) noexcept;
  void give_back(std::uint64_t bytes) noexcept;
  BodyWaiter::State& state_of(BodyWaiter& waiter) const TRAWL_REQUIRES(mutex_) {
    return waiter.state;
  }
  BodyWaiter::State state_of(const BodyWaiter& waiter) const TRAWL_REQUIRES(mutex_) {
    return waiter.state;
  }
  void grant_or_evict() TRAWL_REQUIRES(mutex_);
  std::size_t youngest_that_frees() const TRAWL_REQUIRES(mutex_);
  void conclude(std::size_t index, BodyWaiter::State state) TRAWL_REQUIRES(mutex_);

  const std::uint64_t limit_;
  const std::uint64_t for_bodies_;
  std::atomic<std::uint64_t> used_{0};
  std::atomic<std::uint64_t> held_{0};
  std::atomic<std::size_t> waiting_{0};  // waiters_.size()
  mutable Mutex mutex_;
  // Oldest first.
  std::vector<BodyWaiter*> waiters_ TRAWL_GUARDED_BY(mutex_);
  std::uint64_t held_by_waiters_ TRAWL_GUARDED_BY(mutex_) = 0;
};

// The memory of a table. Never refused, since tables are bounded elsewhere; bodies cannot use it.
// Returned when destroyed. Thread-safe.
class TableCharge {
 public:
  // With a null budget, counted only here.
  explicit TableCharge(std::shared_ptr<BodyMemoryBudget> budget) noexcept
      : budget_(std::move(budget)) {}
  TableCharge(const TableCharge&) = delete;
  TableCharge& operator=(const TableCharge&) = delete;
  ~TableCharge() { give_back(bytes()); }

  void take(std::uint64_t bytes) noexcept;
  void give_back(std::uint64_t bytes) noexcept;
  std::uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }

 private:
  const std::shared_ptr<BodyMemoryBudget> budget_;
  std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace trawl
