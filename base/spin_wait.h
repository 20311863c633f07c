// SpinWait: waiting for a thread that holds a lock for a few instructions.
#pragma once

#include <chrono>
#include <thread>

namespace trawl {

// Spins a little; then yields, since the lock's holder may have been preempted; then sleeps, since
// the holder may have a lower priority and not run while this thread can.
class SpinWait {
 public:
  void wait() noexcept {
    ++turns_;
    if (turns_ > kSpins + kYields) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    } else if (turns_ > kSpins) {
      std::this_thread::yield();
    } else {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  }

 private:
  static constexpr unsigned kSpins = 64;
  static constexpr unsigned kYields = 64;
  unsigned turns_ = 0;
};

}  // namespace trawl
