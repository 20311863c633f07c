// leave_address_space: a process that runs out of memory.
#pragma once

#include <cstddef>
#include <cstdlib>

#include <sys/resource.h>

namespace trawl::test {

// Leaves the process a piece of `bytes` of address space and less than half as much elsewhere, for
// good: call it in a process of its own, and not with a sanitizer, which needs the address space.
inline void leave_address_space(std::size_t bytes) {
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = std::size_t{1} << 30;
  ::setrlimit(RLIMIT_AS, &limit);
  void* const left = std::malloc(bytes);
  void* volatile taken;  // or the compiler would know better
  do
    taken = std::malloc(bytes / 2);
  while (taken != nullptr);
  std::free(left);
}

}  // namespace trawl::test
