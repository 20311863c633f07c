// SignalWaiter: signals taken one by one by the main thread, instead of by handlers.
#pragma once

#include <chrono>
#include <csignal>
#include <optional>

namespace trawl::cli {

// Made before any thread is started: the threads inherit its signal mask.
class SignalWaiter {
 public:
  SignalWaiter();  // SIGINT, SIGTERM, SIGUSR1; and ignores SIGPIPE
  // The next signal, or nothing after `timeout`.
  std::optional<int> wait(std::chrono::milliseconds timeout) const;

 private:
  sigset_t signals_;
};

}  // namespace trawl::cli
