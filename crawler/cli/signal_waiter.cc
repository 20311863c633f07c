#include "crawler/cli/signal_waiter.h"

#include <cassert>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <thread>

namespace trawl::cli {

namespace {

// Of no meaning elsewhere; sent by someone else it does nothing either.
constexpr int kWake = SIGUSR2;

}  // namespace

bool is_only_thread() {
#if defined(__SANITIZE_THREAD__)
  return true;  // ThreadSanitizer has a thread of its own
#else
  // A thread that was joined may be listed for a moment.
  for (int looks = 0; looks < 100; ++looks) {
    std::error_code failure;
    const std::filesystem::directory_iterator threads("/proc/self/task", failure);
    if (failure || std::distance(begin(threads), end(threads)) == 1) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
#endif
}

SignalWaiter::SignalWaiter() {
  assert(is_only_thread());
  std::signal(SIGPIPE, SIG_IGN);
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP, kWake})
    sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

std::optional<int> SignalWaiter::wait(std::chrono::milliseconds timeout) const {
  timespec time{};
  time.tv_sec = timeout.count() / 1000;
  time.tv_nsec = timeout.count() % 1000 * 1'000'000;
  int signal = sigtimedwait(&signals_, nullptr, &time);
  // What was sent to the thread comes before what was sent to the process, even later.
  constexpr timespec kNow{};
  if (signal == kWake) signal = sigtimedwait(&signals_, nullptr, &kNow);
  if (signal < 0 || signal == kWake) return std::nullopt;
  return signal;
}

void SignalWaiter::wake() const noexcept {
  pthread_kill(thread_, kWake);
}

}  // namespace trawl::cli
