// SignalWaiter: the main thread waits for signals, instead of handling them asynchronously.
#pragma once

#include <chrono>
#include <csignal>
#include <optional>

namespace trawl::cli {

// Whether no other thread was started: it would not have a signal mask that is set now. Reads
// /proc: for asserts.
bool is_only_thread();

// Create it before any thread is started: threads inherit its signal mask.
class SignalWaiter {
 public:
  SignalWaiter();  // blocks SIGINT, SIGTERM, SIGUSR1 and SIGHUP; ignores SIGPIPE
  // Returns the next signal, or nothing after `timeout`.
  std::optional<int> wait(std::chrono::milliseconds timeout) const;

 private:
  sigset_t signals_;
};

}  // namespace trawl::cli
