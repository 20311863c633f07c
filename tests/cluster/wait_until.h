// wait_until: for what other threads and processes do.
#pragma once

#include <chrono>
#include <thread>

namespace trawl::test {

// Whether `condition` became true within `patience`. Tested every few milliseconds.
template <class Condition>
bool wait_until(const Condition& condition,
                std::chrono::milliseconds patience = std::chrono::seconds(20)) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace trawl::test
