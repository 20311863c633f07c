// Mutexes of the standard library with thread-safety annotations: see thread_annotations.h.
#pragma once

#include <atomic>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "base/thread_annotations.h"

namespace trawl {

class TRAWL_CAPABILITY("mutex") Mutex {
 public:
  void lock() TRAWL_ACQUIRE() {
    assert_not_held();
    mutex_.lock();
    set_held(true);
  }
  void unlock() TRAWL_RELEASE() {
    assert_held();
    set_held(false);
    mutex_.unlock();
  }
  bool try_lock() TRAWL_TRY_ACQUIRE(true) {
    if (!mutex_.try_lock()) return false;
    set_held(true);
    return true;
  }
  // A thread that locks it twice would wait for itself.
  void assert_not_held() const {
#ifndef NDEBUG
    assert(holder_.load(std::memory_order_relaxed) != std::this_thread::get_id());
#endif
  }
  // For lambdas: the analysis treats each as a function that holds no lock.
  void assert_held() const TRAWL_ASSERT_CAPABILITY(this) {
#ifndef NDEBUG
    assert(holder_.load(std::memory_order_relaxed) == std::this_thread::get_id());
#endif
  }

 private:
  friend class Condition;
#ifdef NDEBUG
  void set_held(bool) {}
#else
  void set_held(bool held) {
    holder_.store(held ? std::this_thread::get_id() : std::thread::id(), std::memory_order_relaxed);
  }
  std::atomic<std::thread::id> holder_;
#endif
  std::mutex mutex_;
};

// Holds the mutex while it exists, except between unlock() and lock().
class TRAWL_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) TRAWL_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() TRAWL_RELEASE() {
    if (locked_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void unlock() TRAWL_RELEASE() {
    assert(locked_);
    mutex_.unlock();
    locked_ = false;
  }
  void lock() TRAWL_ACQUIRE() {
    assert(!locked_);
    mutex_.lock();
    locked_ = true;
  }

 private:
  Mutex& mutex_;
  bool locked_ = true;
};

// Releases a mutex that the thread holds, while it exists.
class TRAWL_SCOPED_CAPABILITY MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) TRAWL_RELEASE(mutex) : mutex_(mutex) { mutex_.unlock(); }
  ~MutexUnlock() TRAWL_RELEASE() { mutex_.lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex& mutex_;
};

// A condition variable. A wait unlocks the mutex and returns with it held. It may return without a
// notification, so callers wait in a loop that tests the condition.
class Condition {
 public:
  void wait(Mutex& mutex) TRAWL_REQUIRES(mutex) {
    mutex.assert_held();
    mutex.set_held(false);
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
    mutex.set_held(true);
  }
  // Returns false at the time limit.
  template <class Clock, class Duration>
  bool wait_until(Mutex& mutex, std::chrono::time_point<Clock, Duration> time)
      TRAWL_REQUIRES(mutex) {
    mutex.assert_held();
    mutex.set_held(false);
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const std::cv_status status = condition_.wait_until(lock, time);
    lock.release();
    mutex.set_held(true);
    return status == std::cv_status::no_timeout;
  }
  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

class TRAWL_CAPABILITY("mutex") SharedMutex {
 public:
  void lock() TRAWL_ACQUIRE() { mutex_.lock(); }
  void unlock() TRAWL_RELEASE() { mutex_.unlock(); }
  void lock_shared() TRAWL_ACQUIRE_SHARED() { mutex_.lock_shared(); }
  void unlock_shared() TRAWL_RELEASE_SHARED() { mutex_.unlock_shared(); }
  // Like Mutex::assert_held(), for reading; checks nothing, since readers are not counted.
  void assert_shared() const TRAWL_ASSERT_SHARED_CAPABILITY(this) {}

 private:
  std::shared_mutex mutex_;
};

class TRAWL_SCOPED_CAPABILITY WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) TRAWL_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~WriterLock() TRAWL_RELEASE() { mutex_.unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class TRAWL_SCOPED_CAPABILITY ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) TRAWL_ACQUIRE_SHARED(mutex) : mutex_(mutex) {
    mutex_.lock_shared();
  }
  ~ReaderLock() TRAWL_RELEASE_GENERIC() { mutex_.unlock_shared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mutex_;
};

}  // namespace trawl
