// When requests came in, as the kernel of a server saw it: how far they must be apart.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

namespace trawl::test {

// RawServer::arrivals()
using Arrivals = std::vector<std::chrono::nanoseconds>;

// There are so many at least, and they are `delay` apart.
inline void expect_apart(Arrivals arrivals, std::chrono::milliseconds delay, std::size_t requests) {
  constexpr std::chrono::microseconds kClocks{100};  // by which the two clocks may drift apart
  EXPECT_GE(arrivals.size(), requests);
  std::ranges::sort(arrivals);
  for (std::size_t i = 1; i < arrivals.size(); ++i) {
    const std::chrono::duration<double, std::milli> gap = arrivals[i] - arrivals[i - 1];
    ASSERT_GE(gap, delay - kClocks)
        << "request " << i << " of " << arrivals.size() << " came too soon";
  }
}

}  // namespace trawl::test
