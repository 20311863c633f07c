// Turns of addresses over all crawlers, in a real redis-server.
#include "frontier/shared/address_turns.h"

#include <thread>

#include <gmock/gmock.h>

#include "tests/cluster/redis_fixture.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class AddressTurnsTest : public test::RedisFixture {
 protected:
  static AddressTurns::Turn one(AddressTurns& turns, const std::string& address,
                                milliseconds delay) {
    const AddressTurns::Request request{.address = address, .delay = delay};
    auto taken = turns.take(std::span(&request, 1));
    EXPECT_TRUE(taken[0].has_value()) << taken[0].error().message;
    return taken[0].value_or(AddressTurns::Turn{});
  }
};

TEST_F(AddressTurnsTest, OneCrawlerAtATime) {
  BootTime now{};  // stands still: no answer is late
  AddressTurns a(*client_, BucketKeys("c"), [&] { return now; });
  AddressTurns b(*client_, BucketKeys("c"), [&] { return now; });
  const AddressTurns::Turn first = one(a, "127.0.0.7", milliseconds(100'000));
  EXPECT_TRUE(first.now);
  EXPECT_EQ(first.start_by, now + a.allowance());
  for (AddressTurns* crawler : {&b, &a}) {
    const AddressTurns::Turn later = one(*crawler, "127.0.0.7", milliseconds(100'000));
    EXPECT_FALSE(later.now);
    EXPECT_GT(later.wait, milliseconds(0));
    EXPECT_LE(later.wait, milliseconds(100'020)) << "by the allowance longer";
  }
  EXPECT_TRUE(one(b, "::1", milliseconds(100'000)).now);
  server_->cli({"del", "{c:a:127.0.0.7}"});  // its time is over
  EXPECT_TRUE(one(b, "127.0.0.7", milliseconds(1)).now);
  while (server_->cli({"exists", "{c:a:127.0.0.7}"}) != "0")
    std::this_thread::sleep_for(milliseconds(5));
}

// Its request would start too late: the next one's turn may begin before.
TEST_F(AddressTurnsTest, ATurnThatComesTooLateIsNotUsed) {
  BootTime now{};
  AddressTurns turns(*client_, BucketKeys("c"), [&] { return now += milliseconds(30); });
  const AddressTurns::Turn late = one(turns, "a", milliseconds(50'000));
  EXPECT_FALSE(late.now);
  EXPECT_EQ(late.wait, milliseconds(50'020));
  EXPECT_EQ(turns.allowance(), milliseconds(60));
  EXPECT_TRUE(one(turns, "b", milliseconds(50'000)).now) << "it allows more now";
}

TEST_F(AddressTurnsTest, AKeyOfAnotherProgramIsNamed) {
  AddressTurns turns(*client_, BucketKeys("c"));
  server_->cli({"set", "{c:a:b}", "mine"});
  const AddressTurns::Request request{.address = "b", .delay = milliseconds(10)};
  const auto taken = turns.take(std::span(&request, 1));
  ASSERT_FALSE(taken[0].has_value());
  EXPECT_THAT(taken[0].error().message, HasSubstr("{c:a:b}"));
}

}  // namespace
}  // namespace trawl
