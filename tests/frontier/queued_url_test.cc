#include "frontier/queued_url.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace trawl {
namespace {

TEST(QueuedUrl, RoundTripsThroughItsKeyAndValue) {
  const QueuedUrl url{.host = "a.test:8080",
                      .order = {.priority = -7, .sequence = 1234567890123},
                      .url = "http://a.test:8080/x?y",
                      .parent = "http://b.test/",
                      .depth = 300,
                      .redirects = 3};
  const auto back = decode_pending(pending_key(url.host, url.order), encode_pending_value(url));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->host, url.host);
  EXPECT_EQ(back->order, url.order);
  EXPECT_EQ(back->url, url.url);
  EXPECT_EQ(back->parent, url.parent);
  EXPECT_EQ(back->depth, url.depth);
  EXPECT_EQ(back->redirects, url.redirects);
}

TEST(QueuedUrl, KeysSortAsTheQueuesDo) {
  constexpr auto kMin = std::numeric_limits<std::int32_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int32_t>::max();
  std::vector<QueueOrder> orders;
  for (const std::int32_t priority : {kMax, 1, 0, -1, kMin}) {
    for (const std::uint64_t sequence : {0ull, 1ull, 255ull, 256ull, ~0ull}) {
      orders.push_back({priority, sequence});
    }
  }
  EXPECT_TRUE(std::ranges::is_sorted(orders));
  std::vector<std::string> keys;
  for (const char* host : {"a.test", "a.test.b", "a.testb"}) {
    keys.push_back(pending_begin(host));
    for (const QueueOrder& order : orders)
      keys.push_back(pending_key(host, order));
    keys.push_back(pending_end(host));
  }
  EXPECT_TRUE(std::ranges::is_sorted(keys));
}

TEST(QueuedUrl, DamagedRecordsAreNotDecoded) {
  const QueuedUrl url{
      .host = "a", .order = {}, .url = "http://a/", .parent = "p", .depth = 1, .redirects = 0};
  const std::string key = pending_key(url.host, url.order);
  const std::string value = encode_pending_value(url);
  for (std::size_t n = 0; n < value.size(); ++n)
    EXPECT_FALSE(decode_pending(key, value.substr(0, n)));
  for (std::size_t n = 0; n < key.size(); ++n)
    EXPECT_FALSE(decode_pending(key.substr(0, n), value));
  EXPECT_FALSE(decode_pending(key, value + "x"));
}

}  // namespace
}  // namespace trawl
