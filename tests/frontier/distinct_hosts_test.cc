#include "frontier/store/distinct_hosts.h"

#include <gtest/gtest.h>

namespace trawl {
namespace {

TEST(DistinctHosts, M1_TakesNoMemoryForHostsNamedAgain) {
  constexpr std::uint64_t kHosts = 1000;
  DistinctHosts hosts;
  for (std::uint64_t i = 0; i < 10'000'000; ++i)
    hosts.add(i * 7919 % kHosts);
  EXPECT_LE(hosts.memory(), 16u << 20);
  const auto all = hosts.take();
  ASSERT_EQ(all.size(), kHosts);
  for (std::uint64_t i = 0; i < kHosts; ++i)
    EXPECT_EQ(all[i], i);
}

TEST(DistinctHosts, KeepsAllThatDiffer) {
  constexpr std::uint64_t kHosts = 3'000'000;
  DistinctHosts hosts;
  for (std::uint64_t i = 0; i < 2 * kHosts; ++i)
    hosts.add(i % kHosts);
  EXPECT_EQ(hosts.take().size(), kHosts);
  EXPECT_TRUE(hosts.take().empty());
}

}  // namespace
}  // namespace trawl
