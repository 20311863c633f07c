// SignalWaiter: the main thread waits for signals, instead of handling them asynchronously.
#pragma once

#include <chrono>
#include <csignal>
#include <optional>

#include <pthread.h>

namespace trawl::cli {

// Whether no other thread was started: it would not have a signal mask that is set now. Reads
// /proc: for asserts.
bool is_only_thread();

// Create it before any thread is started: threads inherit its signal mask.
class SignalWaiter {
 public:
  SignalWaiter();  // blocks SIGINT, SIGTERM, SIGUSR1, SIGUSR2 and SIGHUP; ignores SIGPIPE
  // Returns the next signal, or nothing after `timeout`, or earlier if woken.
  std::optional<int> wait(std::chrono::milliseconds timeout) const;
  // Ends the wait() of the thread that created this, or its next one. Thread-safe.
  void wake() const noexcept;

 private:
  const pthread_t thread_ = pthread_self();
  sigset_t signals_;
};

}  // namespace trawl::cli
