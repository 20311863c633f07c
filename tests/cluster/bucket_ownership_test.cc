// Crawlers that share the buckets of a real redis-server, each with a clock of the test.
#include "frontier/shared/bucket_ownership.h"

#include <algorithm>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "frontier/shared/bucket_shares.h"
#include "tests/cluster/redis_fixture.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr BucketId kBuckets = 32;
constexpr milliseconds kLease{10'000};

// A crawler whose clock began at any time and may go wrong by some per cent.
class Crawler {
 public:
  Crawler(RedisClient& client, const std::string& member, const std::string& session,
          const BootTime& world, std::int64_t offset_hours = 0, double rate = 1,
          const std::string& previous_session = {})
      : store_(client, BucketKeys("crawl"), true),
        world_(world),
        offset_(std::chrono::hours(offset_hours)),
        rate_(rate),
        ownership_(store_,
                   {.member = member,
                    .session = session,
                    .buckets = kBuckets,
                    .lease = kLease,
                    .previous_session = previous_session},
                   [this] { return now(); }) {}

  BootTime now() const {
    const auto passed =
        std::chrono::duration_cast<std::chrono::nanoseconds>(world_.time_since_epoch() * rate_);
    return BootTime(passed + offset_);
  }
  BucketOwnership::Events step() {
    auto events = ownership_.step();
    EXPECT_TRUE(events.has_value()) << events.error().message;
    if (!events) return {};
    for (const Error& trouble : events->troubles)
      ADD_FAILURE() << trouble.message;
    return std::move(*events);
  }
  // The same, and gives back what it should not have.
  BucketOwnership::Events step_and_release() {
    auto events = step();
    for (const BucketId bucket : events.to_release)
      EXPECT_EQ(ownership_.release(bucket).code, BucketStore::Written::Code::kDone);
    return events;
  }
  BucketOwnership& ownership() { return ownership_; }
  bool may_start(BucketId bucket) const { return ownership_.may_start(bucket, now()); }
  std::set<BucketId> startable() const {
    std::set<BucketId> buckets;
    for (BucketId b = 0; b < kBuckets; ++b)
      if (may_start(b)) buckets.insert(b);
    return buckets;
  }

 private:
  BucketStore store_;
  const BootTime& world_;
  std::chrono::nanoseconds offset_;
  double rate_;
  BucketOwnership ownership_;
};

class BucketOwnershipTest : public test::RedisFixture {
 protected:
  Crawler crawler(const std::string& name, std::int64_t offset_hours = 0) {
    return Crawler(*client_, name, "s-" + name, world_, offset_hours);
  }
  void pass(milliseconds time) { world_ += time; }

  BootTime world_{std::chrono::hours(1000)};
};

TEST(BucketShares, EachMemberHasItsShareAndOthersKeepTheirs) {
  const std::vector<std::string> three = {"a", "b", "c"}, two = {"a", "c"};
  std::vector<int> shares(3);
  for (BucketId b = 0; b < 4096; ++b) {
    const std::size_t preferred = preferred_member(b, three);
    ++shares[preferred];
    if (preferred != 1) {
      EXPECT_EQ(three[preferred], two[preferred_member(b, two)]);
    }
  }
  for (const int share : shares)
    EXPECT_NEAR(share, 4096 / 3, 120);
  // The hash is part of the protocol.
  EXPECT_EQ(three[preferred_member(0, three)] + three[preferred_member(1, three)] +
                three[preferred_member(2, three)] + three[preferred_member(255, three)],
            "caaa");
}

// The member "a", which has seen "b" alive.
class MemberTableTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(table_.see(both_, now_).has_value());
    both_[1].record.beat = 2;
    ASSERT_TRUE(table_.see(both_, now_).has_value());
  }

  MemberTable table_{{.self = "a", .session = "s", .lease = kLease}};
  std::vector<MemberTable::Seen> both_ = {{.name = "a", .record = {.session = "s"}},
                                          {.name = "b", .record = {.session = "t"}}};
  BootTime now_{std::chrono::hours(1)};
};

// Heartbeats that could not be read may have been written.
TEST_F(MemberTableTest, AMemberDoesNotAgeWhileItCannotBeRead) {
  now_ += kLease - milliseconds(1);
  ASSERT_TRUE(table_.see(both_, now_).has_value());
  for (int misses = 0; misses < 3; ++misses) {
    now_ += kLease;
    table_.miss();
  }
  ASSERT_TRUE(table_.see(both_, now_).has_value());
  EXPECT_TRUE(table_.has_moved("b", now_));
  now_ += milliseconds(1);
  ASSERT_TRUE(table_.see(both_, now_).has_value());
  EXPECT_THAT(table_.living(now_), ElementsAre("a")) << "it has aged while it could be read";
}

// Buckets would be handed to it.
TEST_F(MemberTableTest, AMemberThatIsDeadDoesNotLiveAgainWhenItCouldNotBeRead) {
  now_ += kLease;
  ASSERT_TRUE(table_.see(both_, now_).has_value());
  ASSERT_FALSE(table_.has_moved("b", now_));
  table_.miss();
  now_ += kLease / 4;
  ASSERT_TRUE(table_.see(both_, now_).has_value());
  EXPECT_FALSE(table_.has_moved("b", now_));
  EXPECT_THAT(table_.living(now_), ElementsAre("a"));
}

TEST_F(BucketOwnershipTest, ACrawlerAloneOwnsAllAndRenews) {
  auto a = crawler("a");
  EXPECT_THAT(a.step().gained, SizeIs(kBuckets));
  EXPECT_THAT(a.startable(), SizeIs(kBuckets));
  pass(milliseconds(7999));
  EXPECT_THAT(a.startable(), SizeIs(kBuckets));
  pass(milliseconds(1));
  EXPECT_THAT(a.startable(), IsEmpty()) << "0.8 of the lease after the claim was sent";
  a.step();
  EXPECT_THAT(a.startable(), SizeIs(kBuckets)) << "no other crawler has claimed them";
  EXPECT_EQ(a.ownership().owned(), kBuckets);
}

TEST_F(BucketOwnershipTest, ANewcomerIsGivenItsShare) {
  auto a = crawler("a"), b = crawler("b", 24 * 365 * 10);
  a.step();
  for (int i = 0; i < 20; ++i) {
    a.step_and_release();
    b.step_and_release();
    pass(milliseconds(1000));
  }
  std::vector<std::string> members = {"a", "b"};
  for (BucketId bucket = 0; bucket < kBuckets; ++bucket) {
    EXPECT_EQ(a.may_start(bucket), preferred_member(bucket, members) == 0);
    EXPECT_EQ(b.may_start(bucket), preferred_member(bucket, members) == 1);
  }
  EXPECT_GT(b.ownership().owned(), 5u);
}

TEST_F(BucketOwnershipTest, TheBucketsOfADeadCrawlerAreTakenAfterTheLease) {
  auto a = crawler("a"), b = crawler("b");
  a.step();
  b.step();
  for (int ms = 0; ms < 9900; ms += 100) {
    pass(milliseconds(100));
    b.step();
    EXPECT_THAT(b.startable(), IsEmpty());
  }
  for (int ms = 0; ms < 1'100; ms += 100) {
    pass(milliseconds(100));
    b.step();
  }
  EXPECT_THAT(b.startable(), SizeIs(kBuckets));
  EXPECT_THAT(a.startable(), IsEmpty());
  // It was only frozen.
  const auto events = a.step();
  EXPECT_THAT(events.lost, SizeIs(kBuckets));
  EXPECT_THAT(a.startable(), IsEmpty());
}

TEST_F(BucketOwnershipTest, WhatIsReleasedIsTakenAtOnce) {
  auto a = crawler("a");
  a.step();
  EXPECT_EQ(a.ownership().leave().code, BucketStore::Written::Code::kDone);
  for (BucketId bucket = 0; bucket < kBuckets; ++bucket)
    EXPECT_EQ(a.ownership().release(bucket).code, BucketStore::Written::Code::kDone);
  EXPECT_THAT(a.startable(), IsEmpty());
  pass(milliseconds(1000));
  EXPECT_THAT(a.step().gained, IsEmpty());
  auto b = crawler("b");
  EXPECT_THAT(b.step().gained, SizeIs(kBuckets)) << "a is off the table";
}

TEST_F(BucketOwnershipTest, TheSecondCrawlerOfANameIsRefusedAndOwnsNothing) {
  auto a = crawler("a");
  a.step();
  EXPECT_EQ(a.ownership().release(3).code, BucketStore::Written::Code::kDone);  // to be claimed
  Crawler again(*client_, "a", "another session", world_);
  std::string refused;
  for (int i = 0; i < 10 && refused.empty(); ++i) {
    auto events = again.ownership().step();
    if (!events) {
      refused = events.error().message;
      EXPECT_EQ(events.error().code, ErrorCode::kInUse);
    }
    EXPECT_EQ(again.ownership().owned(), 0u);
    pass(milliseconds(2500));
    a.step();
  }
  EXPECT_THAT(refused, HasSubstr("cluster.member"));
  EXPECT_THAT(a.startable(), testing::Not(IsEmpty())) << "the first one goes on";
}

TEST_F(BucketOwnershipTest, ARestartedCrawlerGoesOnUnderItsNameAfterTheLease) {
  {
    auto a = crawler("a");
    a.step();
  }
  Crawler again(*client_, "a", "another session", world_);
  for (int i = 0; i < 10; ++i) {
    again.step();
    EXPECT_THAT(again.startable(), IsEmpty());
    pass(milliseconds(1000));
  }
  again.step();
  EXPECT_THAT(again.startable(), SizeIs(kBuckets));
}

TEST_F(BucketOwnershipTest, ARestartedCrawlerWhoseOldProcessHasEndedGoesOnAtOnce) {
  {
    auto a = crawler("a");
    a.step();
  }
  Crawler again(*client_, "a", "another session", world_, 0, 1, "s-a");
  again.step();
  EXPECT_THAT(again.startable(), SizeIs(kBuckets));
  // Only its own.
  Crawler other(*client_, "b", "b session", world_, 0, 1, "s-a");
  EXPECT_THAT(other.step().gained, IsEmpty());
}

TEST_F(BucketOwnershipTest, ACrawlerThatStoodStillNoticesThatItWasReplaced) {
  auto a = crawler("a");
  a.step();
  Crawler again(*client_, "a", "another session", world_);
  for (int i = 0; i < 12; ++i) {
    again.step();
    pass(milliseconds(1000));
  }
  EXPECT_THAT(again.startable(), SizeIs(kBuckets));
  const auto events = a.ownership().step();
  ASSERT_FALSE(events.has_value());
  EXPECT_EQ(events.error().code, ErrorCode::kInUse);
  EXPECT_THAT(events.error().message, HasSubstr("cluster.member"));
  EXPECT_THAT(a.startable(), IsEmpty());
  pass(milliseconds(2500));
  again.step();
  EXPECT_THAT(again.startable(), SizeIs(kBuckets));
}

TEST_F(BucketOwnershipTest, MembersThatAreGoneLeaveTheTable) {
  auto a = crawler("a"), b = crawler("b");
  a.step();
  b.step();
  EXPECT_EQ(server_->cli({"hlen", "{crawl:mem}"}), "2");
  for (int i = 0; i < 105; ++i) {
    pass(milliseconds(1000));
    a.step();
    if (i == 90) {
      EXPECT_EQ(server_->cli({"hlen", "{crawl:mem}"}), "2");
    }
  }
  EXPECT_EQ(server_->cli({"hkeys", "{crawl:mem}"}), "a");
  b.step();  // it had only stood still
  EXPECT_EQ(server_->cli({"hlen", "{crawl:mem}"}), "2");
  server_->cli({"hset", "{crawl:mem}", "c", "x"});
  pass(milliseconds(2500));
  auto events = a.ownership().step();
  ASSERT_TRUE(events.has_value());
  ASSERT_THAT(events->troubles, SizeIs(1));
  EXPECT_THAT(events->troubles[0].message, HasSubstr("{crawl:mem}"));
}

TEST_F(BucketOwnershipTest, ANodeThatLostItsDataIsNotTakenForANewCrawl) {
  auto a = crawler("a");
  a.step();
  server_->cli({"flushall"});
  pass(milliseconds(2500));
  const auto events = a.step();
  EXPECT_THAT(events.emptied, SizeIs(kBuckets));
  EXPECT_THAT(events.lost, IsEmpty());
  pass(milliseconds(20'000));
  EXPECT_THAT(a.step().gained, IsEmpty());
}

TEST_F(BucketOwnershipTest, AfterAnHourWithoutRedisItGoesOn) {
  auto connected = RedisClient::connect({.addresses = {server_->address()},
                                         .connect_timeout = milliseconds(50),
                                         .answer_timeout = milliseconds(50)});
  ASSERT_TRUE(connected.has_value()) << connected.error().message;
  Crawler a(**connected, "a", "s-a", world_);
  a.step();
  server_->freeze();
  for (int i = 0; i < 3; ++i) {
    pass(std::chrono::minutes(20));
    auto events = a.ownership().step();
    ASSERT_TRUE(events.has_value()) << events.error().message;
    EXPECT_THAT(events->troubles, testing::Not(IsEmpty()));
    EXPECT_THAT(events->lost, IsEmpty());
    EXPECT_THAT(a.startable(), IsEmpty());
  }
  server_->thaw();
  pass(milliseconds(2500));
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(a.step().lost, IsEmpty());
  EXPECT_THAT(a.startable(), SizeIs(kBuckets)) << "no other crawler has claimed them";
}

// Crawlers with clocks that differ by years and go wrong by up to 5 %, at random: they freeze, end,
// start again.
TEST_F(BucketOwnershipTest, P1_NeverTwoOwnersWhoMayStart) {
  const unsigned seed = std::random_device()();
  fmt::print("seed {}\n", seed);
  std::mt19937 random(seed);
  const auto below = [&](unsigned n) {
    return std::uniform_int_distribution<unsigned>(0, n - 1)(random);
  };
  std::vector<std::unique_ptr<Crawler>> crawlers(3);
  std::vector<int> frozen(3);
  std::size_t owned = 0, taken = 0;
  unsigned sessions = 0;
  for (int round = 0; round < 3000; ++round) {
    const unsigned i = below(3);
    if (frozen[i] > 0) {
      --frozen[i];
    } else if (crawlers[i] == nullptr) {
      if (below(20) == 0) {
        crawlers[i] = std::make_unique<Crawler>(
            *client_, fmt::format("m{}", i), fmt::format("s{}", ++sessions), world_,
            static_cast<std::int64_t>(below(100'000)), 0.95 + 0.05 * below(3));
      }
    } else if (below(100) == 0) {
      crawlers[i].reset();
    } else if (below(60) == 0) {
      frozen[i] = static_cast<int>(below(60));
    } else {
      taken += crawlers[i]->step_and_release().gained.size();
    }
    for (BucketId bucket = 0; bucket < kBuckets; ++bucket) {
      const auto starters = std::ranges::count_if(
          crawlers, [&](const auto& one) { return one != nullptr && one->may_start(bucket); });
      ASSERT_LE(starters, 1) << "bucket " << bucket << " in round " << round;
      owned += static_cast<std::size_t>(starters);
    }
    pass(milliseconds(below(500)));
  }
  fmt::print("{} claims, {:.0f} % of the time owned\n", taken,
             100.0 * static_cast<double>(owned) / 3000 / kBuckets);
  EXPECT_GT(taken, kBuckets);
}

}  // namespace
}  // namespace trawl
