#include "frontier/schedule/host_queue.h"

#include <limits>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace trawl {
namespace {

constexpr auto kMaxPriority = std::numeric_limits<std::int32_t>::max();
constexpr auto kMaxSequence = std::numeric_limits<std::uint64_t>::max();

QueueOrder order(std::uint64_t sequence, std::int32_t priority = 0) {
  return {.priority = priority, .sequence = sequence};
}

TEST(HostQueue, GivesItsUrlsInOrderAndEachOnce) {
  HostQueue queue;
  EXPECT_FALSE(queue.has_urls());
  EXPECT_TRUE(queue.insert(order(5), "five"));
  EXPECT_TRUE(queue.insert(order(7, -1), ""));
  EXPECT_TRUE(queue.insert(order(6), "six"));
  EXPECT_TRUE(queue.insert(order(9, 3), "nine"));
  EXPECT_FALSE(queue.insert(order(6), "six again"));
  EXPECT_FALSE(queue.insert(order(7, -1), "seven again"));
  EXPECT_EQ(queue.head_urls(), 4u);
  for (const char* record : {"nine", "five", "six", ""}) {
    EXPECT_EQ(queue.front_record(), record);
    EXPECT_EQ(queue.pop_front(), record);
  }
  EXPECT_FALSE(queue.has_urls());
  EXPECT_EQ(queue.head_bytes(), 0u);
}

TEST(HostQueue, AUrlThatIsDroppedAndAllBehindItAreOfTheRest) {
  HostQueue queue;
  for (const std::uint64_t n : {1u, 3u, 5u})
    queue.insert(order(n), "record");
  EXPECT_FALSE(queue.in_rest(order(1000)));
  queue.drop_last();
  EXPECT_EQ(queue.head_urls(), 2u);
  EXPECT_TRUE(queue.in_rest(order(5)));
  EXPECT_TRUE(queue.in_rest(order(0, -1)));
  EXPECT_FALSE(queue.in_rest(order(4)));
  EXPECT_FALSE(queue.in_rest(order(1000, 1)));
  queue.drop_head();
  EXPECT_TRUE(queue.head_empty());
  EXPECT_TRUE(queue.in_rest(order(1)));
  EXPECT_FALSE(queue.in_rest(order(0)));
}

TEST(HostQueue, TheRestMayBeginWithTheVeryFirstPlaces) {
  HostQueue queue;
  queue.set_rest_from(order(0, 4));
  EXPECT_TRUE(queue.in_rest(order(0, 4)));
  EXPECT_FALSE(queue.in_rest(order(kMaxSequence, 5)));
  queue.set_rest_from(order(0, kMaxPriority));
  EXPECT_TRUE(queue.in_rest(order(0, kMaxPriority)));
  EXPECT_EQ(queue.rest_after(), std::nullopt);
  queue.set_rest_from(order(0, std::numeric_limits<std::int32_t>::min()));
  EXPECT_TRUE(queue.in_rest(order(0, std::numeric_limits<std::int32_t>::min())));
  EXPECT_FALSE(queue.in_rest(order(5, std::numeric_limits<std::int32_t>::min() + 1)));
}

TEST(HostQueue, IsAsAMapOfItsUrls) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  HostQueue queue;
  std::map<QueueOrder, std::string> model;
  for (int step = 0; step < 100'000; ++step) {
    const QueueOrder some = order(random() % 40, static_cast<std::int32_t>(random() % 3) - 1);
    switch (random() % 6) {
      case 0:
      case 1: {
        queue.set_no_rest();
        const std::string record(random() % 50, static_cast<char>('a' + random() % 26));
        ASSERT_EQ(queue.insert(some, record), model.emplace(some, record).second);
        break;
      }
      case 2:
        if (model.empty()) break;
        ASSERT_EQ(queue.front(), model.begin()->first);
        ASSERT_EQ(queue.pop_front(), model.begin()->second);
        model.erase(model.begin());
        break;
      case 3: {
        const auto node = model.extract(some);
        const auto taken = queue.take(some);
        ASSERT_EQ(taken.has_value(), !node.empty());
        if (taken) {
          ASSERT_EQ(*taken, node.mapped());
        }
        break;
      }
      case 4:
        if (model.empty()) break;
        queue.drop_last();
        ASSERT_TRUE(queue.in_rest(model.rbegin()->first));
        model.erase(std::prev(model.end()));
        ASSERT_TRUE(model.empty() || !queue.in_rest(model.rbegin()->first));
        break;
      default:
        queue.shrink_to_fit();
        ASSERT_LT(queue.head_bytes(), queue.head_bytes_used() + 16);
    }
    ASSERT_EQ(queue.head_urls(), model.size());
    ASSERT_GE(queue.head_bytes(), queue.head_bytes_used());
  }
}

}  // namespace
}  // namespace trawl
