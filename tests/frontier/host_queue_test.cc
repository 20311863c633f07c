#include "frontier/host_queue.h"

#include <gtest/gtest.h>

namespace trawl {
namespace {

QueuedUrl queued(std::uint64_t sequence, std::int32_t priority = 0) {
  return {.host = "a.test",
          .order = {.priority = priority, .sequence = sequence},
          .url = "http://a.test/" + std::to_string(sequence),
          .parent = "",
          .depth = 0,
          .redirects = 0};
}

TEST(HostQueue, M1_KeepsNoMoreThanItsLimitInMemory) {
  HostQueue host("a.test");
  for (std::uint64_t n = 0; n < 1000; ++n)
    host.add(queued(n), 10);
  EXPECT_EQ(host.head.size(), 10u);
  EXPECT_EQ(host.head.rbegin()->first.sequence, 9u) << "the first ones are kept";
  EXPECT_EQ(host.read_up_to, (QueueOrder{.priority = 0, .sequence = 9}));
}

TEST(HostQueue, AUrlAheadOfWhatTheStoreHasPushesTheLastOneOut) {
  HostQueue host("a.test");
  for (std::uint64_t n = 0; n < 20; ++n)
    host.add(queued(n), 10);
  host.add(queued(20, 5), 10);
  EXPECT_EQ(host.head.begin()->first.sequence, 20u);
  EXPECT_EQ(host.head.size(), 10u);
  EXPECT_EQ(host.read_up_to, (QueueOrder{.priority = 0, .sequence = 8}));
  host.add(queued(21), 10);
  EXPECT_EQ(host.head.size(), 10u) << "behind what was read: the store has it";
}

}  // namespace
}  // namespace trawl
