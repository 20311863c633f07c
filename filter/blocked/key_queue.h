// KeyQueue: a bounded queue of keys between two threads, in batches and in order.
#pragma once

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "trawl/fingerprint.h"

#include "base/mutex.h"
#include "base/one_thread.h"

namespace trawl {

// Producers call put() and end(), one thread at a time; one thread (the consumer) calls take() and
// stop().
class KeyQueue {
 public:
  KeyQueue(std::size_t buffers, std::size_t keys_per_buffer)
      : buffers_(buffers),
        keys_per_buffer_(keys_per_buffer),
        keys_(std::make_unique_for_overwrite<Fingerprint[]>(buffers * keys_per_buffer)) {
    assert(buffers > 0 && keys_per_buffer > 0);
  }

  // Copies the keys. Waits while all buffers are in use, calling `while_waiting` several times a
  // second. Returns false if the consumer has stopped.
  bool put(std::span<const Fingerprint> keys, const std::function<void()>& while_waiting) {
    const OneAtATime::Use use(giving_);
    while (!keys.empty()) {
      const std::size_t n = std::min(keys.size(), keys_per_buffer_ - filled_);
      std::copy_n(keys.data(), n, buffer(filling_) + filled_);
      keys = keys.subspan(n);
      filled_ += n;
      if (filled_ == keys_per_buffer_ && !give(while_waiting)) return false;
    }
    return true;
  }

  // Ends the stream: passes the rest, and waits until the consumer is done with it.
  void end(const std::function<void()>& while_waiting) {
    const OneAtATime::Use use(giving_);
    const MutexLock lock(mutex_);
    assert(!ended_ && filled_ < keys_per_buffer_);
    last_ = filled_;
    ended_ = true;
    changed_.notify_all();
    while (!stopped_)
      wait(while_waiting);
  }

  // The keys of the next buffer, valid until the next call; empty at the end.
  std::span<const Fingerprint> take() {
    taker_.check();
    const MutexLock lock(mutex_);
    if (taking_) {
      ++done_;
      taking_ = false;
      changed_.notify_all();
    }
    while (done_ == given_ && !ended_)
      changed_.wait(mutex_);
    assert(done_ <= given_ && given_ - done_ <= buffers_);
    std::size_t n = keys_per_buffer_;
    if (done_ == given_) n = std::exchange(last_, 0);
    taking_ = done_ < given_;
    return {buffer(done_), n};
  }
  // The consumer takes no more keys.
  void stop() {
    const MutexLock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

 private:
  static constexpr std::chrono::milliseconds kLook{200};

  Fingerprint* buffer(std::size_t number) {
    return keys_.get() + number % buffers_ * keys_per_buffer_;
  }
  // Waits for a change. If none comes for some time, calls `while_waiting` without the mutex.
  void wait(const std::function<void()>& while_waiting) TRAWL_REQUIRES(mutex_) {
    const auto look = std::chrono::steady_clock::now() + kLook;
    if (changed_.wait_until(mutex_, look) || !while_waiting) return;
    mutex_.unlock();
    while_waiting();
    mutex_.lock();
  }
  bool give(const std::function<void()>& while_waiting) {
    const MutexLock lock(mutex_);
    given_ = ++filling_;
    filled_ = 0;
    changed_.notify_all();
    while (given_ - done_ == buffers_ && !stopped_)
      wait(while_waiting);
    return !stopped_;
  }

  const std::size_t buffers_;
  const std::size_t keys_per_buffer_;
  const std::unique_ptr<Fingerprint[]> keys_;

  // Used by producers only: the buffer that it fills, and the number of keys in it.
  std::size_t filling_ = 0;
  std::size_t filled_ = 0;
  OneAtATime giving_;
  OneThread taker_;

  Mutex mutex_;
  Condition changed_;
  std::size_t given_ TRAWL_GUARDED_BY(mutex_) = 0;  // buffers passed to the consumer
  std::size_t done_ TRAWL_GUARDED_BY(mutex_) = 0;
  // When ended_: keys in the buffer after the `given_` ones.
  std::size_t last_ TRAWL_GUARDED_BY(mutex_) = 0;
  bool taking_ TRAWL_GUARDED_BY(mutex_) = false;
  bool ended_ TRAWL_GUARDED_BY(mutex_) = false;
  bool stopped_ TRAWL_GUARDED_BY(mutex_) = false;
};

}  // namespace trawl
