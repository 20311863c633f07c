#include "crawler/cli/signal_waiter.h"

#include <cassert>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <system_error>

namespace trawl::cli {

bool is_only_thread() {
#if defined(__SANITIZE_THREAD__)
  return true;  // ThreadSanitizer has a thread of its own
#else
  std::error_code failure;
  const std::filesystem::directory_iterator threads("/proc/self/task", failure);
  return failure || std::distance(begin(threads), end(threads)) == 1;
#endif
}

SignalWaiter::SignalWaiter() {
  assert(is_only_thread());
  std::signal(SIGPIPE, SIG_IGN);
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP})
    sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

std::optional<int> SignalWaiter::wait(std::chrono::milliseconds timeout) const {
  timespec time{};
  time.tv_sec = timeout.count() / 1000;
  time.tv_nsec = timeout.count() % 1000 * 1'000'000;
  const int signal = sigtimedwait(&signals_, nullptr, &time);
  if (signal < 0) return std::nullopt;
  return signal;
}

}  // namespace trawl::cli
