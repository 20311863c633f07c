#include "crawler/cli/signals.h"

#include <ctime>

namespace trawl::cli {

SignalWaiter::SignalWaiter() {
  std::signal(SIGPIPE, SIG_IGN);
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1})
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
