// Budgets over all crawlers, in a real redis-server.
#include "frontier/shared/shared_budget.h"

#include <random>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/cluster/redis_fixture.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class SharedBudgetTest : public test::RedisFixture {
 protected:
  SharedBudget budget(const std::string& session) {
    return SharedBudget(*client_, BucketKeys("c"), {.name = "pages", .session = session});
  }
};

TEST_F(SharedBudgetTest, PortionsAreAHundredthOfWhatIsLeft) {
  auto a = budget("a"), b = budget("b");
  EXPECT_EQ(a.take(10'000).value(), 100u);
  EXPECT_EQ(b.take(10'000).value(), 99u);
  EXPECT_EQ(a.take(1'000'000).value(), 1000u) << "at most";
  EXPECT_EQ(a.taken().value(), 1199u);
  EXPECT_EQ(b.take(1'200).value(), 1u) << "at least";
  EXPECT_EQ(a.take(1'200).value(), 0u);
  EXPECT_EQ(b.take(1'210, 4).value(), 4u) << "as many as are needed";
  EXPECT_EQ(b.take(1'210, 40).value(), 6u) << "or are left";
  EXPECT_TRUE(a.give_back(7).has_value());
  EXPECT_EQ(b.take(1'210, 100).value(), 7u);
  EXPECT_EQ(server_->cli({"hget", "{c:bud}", "pages"}), "1210");
}

TEST_F(SharedBudgetTest, LargeLimitsAreExact) {
  SharedBudget bytes(*client_, BucketKeys("c"),
                     {.name = "bytes", .session = "a", .least = 1 << 20, .most = 1000 << 20});
  const std::uint64_t limit = 5'000'000'000'000'000;
  EXPECT_EQ(bytes.take(limit).value(), 1000u << 20);
  EXPECT_EQ(bytes.take(limit, limit).value(), limit - (1000u << 20));
  EXPECT_EQ(bytes.taken().value(), limit);
  EXPECT_TRUE(bytes.give_back(1).has_value());
  EXPECT_EQ(bytes.taken().value(), limit - 1);
}

// Crawlers at random, which spend, stop, and are killed; some requests are not answered.
TEST_F(SharedBudgetTest, TheLimitHoldsAndWhatIsGivenBackIsSpent) {
  const unsigned seed = std::random_device()();
  fmt::print("seed {}\n", seed);
  std::mt19937 random(seed);
  const std::uint64_t limit = 3000;
  std::uint64_t spent = 0, lost = 0;
  struct Crawler {
    SharedBudget budget;
    std::uint64_t left = 0;
  };
  std::vector<Crawler> crawlers;
  int sessions = 0;
  for (int round = 0; round < 3000; ++round) {
    if (crawlers.size() < 4) crawlers.push_back({budget(fmt::format("s{}", ++sessions))});
    const std::size_t at = random() % crawlers.size();
    Crawler& one = crawlers[at];
    if (one.left == 0) {
      const auto taken = one.budget.take(limit);
      ASSERT_TRUE(taken.has_value()) << taken.error().message;
      one.left = *taken;
    } else if (random() % 4 != 0) {
      const std::uint64_t pages = 1 + random() % one.left;
      one.left -= pages;
      spent += pages;
      ASSERT_LE(spent, limit);
    } else if (random() % 4 == 0) {
      const bool is_killed = random() % 2 == 0;
      lost += is_killed ? one.left : 0;
      ASSERT_TRUE(is_killed || one.budget.give_back(one.left).has_value());
      crawlers.erase(crawlers.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  std::uint64_t left = 0;
  for (const Crawler& one : crawlers)
    left += one.left;
  EXPECT_EQ(budget("last").taken().value(), spent + lost + left);
  fmt::print("{} sessions; {} spent, {} lost\n", sessions, spent, lost);
  EXPECT_EQ(budget("another").take(limit, limit).value(), limit - spent - lost - left);
}

// What was sent and not answered is sent again by the next call.
TEST_F(SharedBudgetTest, ARequestThatIsRepeatedCountsOnce) {
  auto client = RedisClient::connect(
      {.addresses = {server_->address()}, .answer_timeout = milliseconds(100)});
  SharedBudget budget(**client, BucketKeys("c"),
                      {.name = "pages", .session = "a", .patience = milliseconds(300)});
  EXPECT_EQ(budget.take(10'000).value(), 100u);
  server_->freeze();
  EXPECT_EQ(budget.take(10'000).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(budget.give_back(50).error().code, ErrorCode::kUnavailable);
  server_->thaw();
  while (budget.taken().value_or(0) != 199)
    std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(budget.take(10'000).value(), 99u) << "the same portion";
  EXPECT_EQ(budget.taken().value(), 199u);
  server_->freeze();
  EXPECT_EQ(budget.give_back(50).error().code, ErrorCode::kUnavailable);
  server_->thaw();
  while (budget.taken().value_or(0) != 149)
    std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(budget.give_back(0).has_value());
  EXPECT_EQ(budget.taken().value(), 149u);
}

TEST_F(SharedBudgetTest, ForeignAndDamagedValuesAreNamed) {
  auto a = budget("a");
  server_->cli({"set", "{c:bud}", "mine"});
  EXPECT_THAT(a.take(10).error().message, HasSubstr("{c:bud} in Redis is a string"));
  server_->cli({"del", "{c:bud}"});
  server_->cli({"hset", "{c:bud}", "pages", "many"});
  EXPECT_THAT(a.take(10).error().message, HasSubstr("{c:bud}"));
  EXPECT_THAT(a.taken().error().message, HasSubstr("pages"));
  server_->cli({"hset", "{c:bud}", "pages", "5", "pages:a", "x"});
  EXPECT_THAT(a.take(10).error().message, HasSubstr("pages:a"));
  EXPECT_EQ(a.taken().value(), 5u);
}

}  // namespace
}  // namespace trawl
