// KeyQueue: keys on their way from one thread to another, many at a time and in order.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "trawl/fingerprint.h"

namespace trawl {

// One thread calls put() and end(), another one take() and stop().
class KeyQueue {
 public:
  KeyQueue(std::size_t buffers, std::size_t keys_per_buffer)
      : buffers_(buffers),
        keys_per_buffer_(keys_per_buffer),
        keys_(std::make_unique_for_overwrite<Fingerprint[]>(buffers * keys_per_buffer)) {}

  // Copies the keys in; waits while all buffers are taken, and calls `while_waiting` several times
  // a second meanwhile. False if the other side has stopped.
  bool put(std::span<const Fingerprint> keys, const std::function<void()>& while_waiting) {
    while (!keys.empty()) {
      const std::size_t n = std::min(keys.size(), keys_per_buffer_ - filled_);
      std::copy_n(keys.data(), n, buffer(given_) + filled_);
      keys = keys.subspan(n);
      filled_ += n;
      if (filled_ == keys_per_buffer_ && !give(while_waiting)) return false;
    }
    return true;
  }

  // No more keys come: gives the rest, and waits until it is taken and done with.
  void end(const std::function<void()>& while_waiting) {
    std::unique_lock lock(mutex_);
    last_ = filled_;
    ended_ = true;
    changed_.notify_all();
    wait(lock, while_waiting, [&] { return stopped_; });
  }

  // The other side: the keys of the next buffer, valid until the next call; none at the end.
  std::span<const Fingerprint> take() {
    std::unique_lock lock(mutex_);
    if (taking_) {
      ++done_;
      taking_ = false;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return done_ < given_ || ended_; });
    std::size_t n = keys_per_buffer_;
    if (done_ == given_) n = std::exchange(last_, 0);
    taking_ = done_ < given_;
    return {buffer(done_), n};
  }
  // The other side takes no more.
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

 private:
  static constexpr std::chrono::milliseconds kLook{200};

  Fingerprint* buffer(std::size_t number) {
    return keys_.get() + number % buffers_ * keys_per_buffer_;
  }
  template <class Condition>
  void wait(std::unique_lock<std::mutex>& lock, const std::function<void()>& while_waiting,
            const Condition& condition) {
    while (!changed_.wait_for(lock, kLook, condition)) {
      if (!while_waiting) continue;
      lock.unlock();
      while_waiting();
      lock.lock();
    }
  }
  bool give(const std::function<void()>& while_waiting) {
    std::unique_lock lock(mutex_);
    ++given_;
    filled_ = 0;
    changed_.notify_all();
    wait(lock, while_waiting, [&] { return given_ - done_ < buffers_ || stopped_; });
    return !stopped_;
  }

  const std::size_t buffers_;
  const std::size_t keys_per_buffer_;
  const std::unique_ptr<Fingerprint[]> keys_;
  std::size_t filled_ = 0;  // of buffer given_, which is put()'s own

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::size_t given_ = 0;  // buffers
  std::size_t done_ = 0;
  std::size_t last_ = 0;  // keys in the buffer after those given, when ended_
  bool taking_ = false;
  bool ended_ = false;
  bool stopped_ = false;
};

}  // namespace trawl
