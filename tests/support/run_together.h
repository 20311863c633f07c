// Threads that begin at the same moment.
#pragma once

#include <barrier>
#include <cstddef>
#include <thread>
#include <vector>

namespace trawl::test {

// Runs task(t) for t = 0 .. threads - 1 at the same time.
template <class Task>
void run_together(std::size_t threads, Task&& task) {
  std::barrier start(static_cast<std::ptrdiff_t>(threads));
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      start.arrive_and_wait();
      task(t);
    });
  }
  for (auto& thread : running)
    thread.join();
}

}  // namespace trawl::test
