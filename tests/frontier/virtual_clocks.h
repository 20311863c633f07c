// VirtualClocks: both clocks of a frontier, which move only on request.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "trawl/embedded_frontier.h"

namespace trawl::test {

// They count whole milliseconds. Thread-safe.
class VirtualClocks {
 public:
  SteadyTime now() const { return SteadyTime(std::chrono::milliseconds(steady_.load())); }
  SystemTime wall() const { return SystemTime(std::chrono::milliseconds(wall_.load())); }
  std::int64_t wall_milliseconds() const { return wall_.load(); }

  void advance(std::chrono::milliseconds by) {
    steady_ += by.count();
    wall_ += by.count();
  }
  // Somebody sets the wall clock, back perhaps.
  void set_wall_by(std::chrono::milliseconds by) { wall_ += by.count(); }
  // As after a reboot: the one begins again, the other went on.
  void restart(std::chrono::milliseconds after) {
    steady_ = kFirst;
    wall_ += after.count();
  }
  void use_in(EmbeddedOptions& options) const {
    options.testing.clock = [this] { return now(); };
    options.testing.wall_clock = [this] { return wall(); };
  }

 private:
  static constexpr std::int64_t kFirst = 3'600'000;
  std::atomic<std::int64_t> steady_{kFirst};
  std::atomic<std::int64_t> wall_{1'600'000'000'000};
};

}  // namespace trawl::test
