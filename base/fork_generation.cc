#include "base/fork_generation.h"

#include <atomic>

#include <pthread.h>

namespace trawl {

namespace {

// relaxed: only a child's only thread, inside fork(), writes it.
std::atomic<std::uint32_t> forks{0};

[[maybe_unused]] const int counts_forks =
    ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

std::uint32_t fork_generation() noexcept {
  return forks.load(std::memory_order_relaxed);
}

}  // namespace trawl
