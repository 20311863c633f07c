// Threads that own the buckets of real redis-servers, in real time.
#include "frontier/shared/ownership_thread.h"

#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/cluster/redis_fixture.h"
#include "tests/cluster/wait_until.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using test::has_redis;
using test::RedisClusterServers;
using test::wait_until;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Code = BucketStore::Written::Code;

constexpr BucketId kBuckets = 32;

// What a crawler does with the events of its thread.
class Owner {
 public:
  Owner(const std::vector<RedisAddress>& servers, const std::string& member,
        const std::string& session, milliseconds lease) {
    auto client = RedisClient::connect({.addresses = servers,
                                        .connect_timeout = milliseconds(200),
                                        .answer_timeout = milliseconds(200)});
    EXPECT_TRUE(client.has_value()) << client.error().message;
    if (!client) return;
    OwnershipThread::Events events;
    events.gained = [this](BucketId bucket, const std::string& token, const BucketMeta&) {
      const MutexLock lock(mutex_);
      EXPECT_FALSE(owned_.contains(bucket));
      owned_[bucket] = token;
    };
    events.lost = events.emptied = [this](BucketId bucket) {
      const MutexLock lock(mutex_);
      owned_.erase(bucket);
    };
    events.to_release = [this](BucketId bucket) {
      const MutexLock lock(mutex_);
      thread_->release(bucket, owned_.at(bucket));
      owned_.erase(bucket);
    };
    events.renewed = [this](std::span<const BucketOwnership::Events::Renewed> renewed) {
      const MutexLock lock(mutex_);
      renewed_ += renewed.size();
    };
    events.trouble = [this](const Error& error) { note(error.message); };
    events.recovered = [this] { note("recovered"); };
    events.failed = [this](const Error& error) { note("failed: " + error.message); };
    thread_ = std::make_unique<OwnershipThread>(
        std::move(*client), BucketKeys("crawl"),
        BucketOwnership::Options{
            .member = member, .session = session, .buckets = kBuckets, .lease = lease},
        std::move(events));
    thread_->start();
  }
  ~Owner() {
    if (thread_) thread_->stop();  // before what its events use
  }

  OwnershipThread& thread() const { return *thread_; }
  bool may_start(BucketId bucket) const { return thread_->may_start(bucket); }
  std::map<BucketId, std::string> owned() const {
    const MutexLock lock(mutex_);
    return owned_;
  }
  void forget(BucketId bucket) {
    const MutexLock lock(mutex_);
    owned_.erase(bucket);
  }
  std::set<BucketId> startable() const {
    std::set<BucketId> buckets;
    for (BucketId b = 0; b < kBuckets; ++b)
      if (thread_->may_start(b)) buckets.insert(b);
    return buckets;
  }
  std::vector<std::string> notes() const {
    const MutexLock lock(mutex_);
    return notes_;
  }
  std::size_t renewed() const {
    const MutexLock lock(mutex_);
    return renewed_;
  }

 private:
  void note(std::string text) {
    const MutexLock lock(mutex_);
    notes_.push_back(std::move(text));
  }

  mutable Mutex mutex_;
  std::map<BucketId, std::string> owned_ TRAWL_GUARDED_BY(mutex_);
  std::vector<std::string> notes_ TRAWL_GUARDED_BY(mutex_);
  std::size_t renewed_ TRAWL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<OwnershipThread> thread_;
};

// How many buckets both may start requests of. The first one is asked twice: meanwhile it may have
// given a bucket to the second.
std::size_t shared_by(const Owner& first, const Owner& second) {
  std::size_t count = 0;
  for (BucketId bucket = 0; bucket < kBuckets; ++bucket)
    count += first.may_start(bucket) && second.may_start(bucket) && first.may_start(bucket);
  return count;
}

class OwnershipThreadTest : public test::RedisFixture {
 protected:
  std::unique_ptr<Owner> owner(const std::string& name, milliseconds lease = milliseconds(1000),
                               const std::string& session = "") {
    return std::make_unique<Owner>(std::vector{server_->address()}, name,
                                   session.empty() ? "s-" + name : session, lease);
  }
};

TEST_F(OwnershipThreadTest, CrawlersShareTheBucketsEvenly) {
  auto a = owner("a");
  ASSERT_TRUE(wait_until([&] { return a->startable().size() == kBuckets; }));
  auto b = owner("b");
  const auto is_even = [&] {
    EXPECT_EQ(shared_by(*a, *b), 0u);
    return b->startable().size() > 5 && a->startable().size() + b->startable().size() == kBuckets;
  };
  ASSERT_TRUE(wait_until(is_even));
  ASSERT_TRUE(
      wait_until([&] { return a->thread().status().owned + b->owned().size() == kBuckets; }));
  EXPECT_EQ(a->thread().status().released, b->owned().size());
  EXPECT_EQ(a->thread().status().living, (std::vector<std::string>{"a", "b"}));
  EXPECT_GE(a->renewed(), kBuckets);
  EXPECT_EQ(a->thread().status().lost + b->thread().status().lost, 0u);
  EXPECT_THAT(a->notes(), IsEmpty());
  EXPECT_THAT(b->notes(), IsEmpty());
}

TEST_F(OwnershipThreadTest, WhoStopsWithoutAWordIsReplacedAfterTheLease) {
  auto a = owner("a");
  ASSERT_TRUE(wait_until([&] { return a->startable().size() == kBuckets; }));
  auto b = owner("b");
  a->thread().stop();
  const auto stopped = BootClock::now();
  ASSERT_TRUE(wait_until([&] {
    EXPECT_EQ(shared_by(*a, *b), 0u);
    return b->startable().size() == kBuckets;
  }));
  EXPECT_GE(BootClock::now() - stopped, milliseconds(1000)) << "what it saw was younger";
  EXPECT_THAT(a->startable(), IsEmpty());
  const auto owned = a->owned();
  auto late = a->thread().release(owned.begin()->first, owned.begin()->second).get();
  EXPECT_EQ(late.code, Code::kFailed);
  ASSERT_TRUE(late.error.has_value());
  EXPECT_EQ(late.error->code, ErrorCode::kClosed);
}

TEST_F(OwnershipThreadTest, WhoLeavesIsReplacedAtOnce) {
  auto a = owner("a", milliseconds(60'000));
  ASSERT_TRUE(wait_until([&] { return a->startable().size() == kBuckets; }));
  EXPECT_EQ(a->thread().leave().get().code, Code::kDone);
  std::vector<std::future<BucketStore::Written>> released;
  for (const auto& [bucket, token] : a->owned())
    released.push_back(a->thread().release(bucket, token));
  for (auto& one : released)
    EXPECT_EQ(one.get().code, Code::kDone);
  EXPECT_THAT(a->startable(), IsEmpty());
  auto b = owner("b", milliseconds(60'000));
  EXPECT_TRUE(wait_until([&] { return b->startable().size() == kBuckets; }));
}

TEST_F(OwnershipThreadTest, WhatIsReleasedJustBeforeTheEndIsReleased) {
  auto a = owner("a", milliseconds(60'000));
  ASSERT_TRUE(wait_until([&] { return a->startable().size() == kBuckets; }));
  std::vector<std::future<BucketStore::Written>> released;
  released.push_back(a->thread().leave());
  for (const auto& [bucket, token] : a->owned())
    released.push_back(a->thread().release(bucket, token));
  a->thread().stop();
  for (auto& one : released)
    EXPECT_EQ(one.get().code, Code::kDone);
}

TEST_F(OwnershipThreadTest, ADroppedBucketIsLeftAloneForALeaseAndOldTokensDoNothing) {
  auto a = owner("a");
  ASSERT_TRUE(wait_until([&] { return a->owned().size() == kBuckets; }));
  const std::string token = a->owned().at(3);
  a->forget(3);
  const auto dropped = BootClock::now();
  a->thread().drop(3, token);
  ASSERT_TRUE(wait_until([&] { return a->thread().status().dropped == 1; }));
  ASSERT_TRUE(wait_until([&] { return a->may_start(3); }));
  EXPECT_GE(BootClock::now() - dropped, milliseconds(1000));
  ASSERT_TRUE(wait_until([&] { return a->owned().contains(3); }));
  EXPECT_NE(a->owned().at(3), token);
  EXPECT_EQ(a->thread().release(3, token).get().code, Code::kFenced);
  a->thread().drop(3, token);
  EXPECT_EQ(a->thread().release(4, "another").get().code, Code::kFenced);
  EXPECT_THAT(a->startable(), SizeIs(kBuckets));
  EXPECT_EQ(a->thread().status().dropped, 1u);
  EXPECT_EQ(a->thread().status().gained, kBuckets + 1);
}

TEST_F(OwnershipThreadTest, ARedisThatStandsStillStopsStartsInTimeAndIsReportedOnce) {
  auto a = owner("a");
  ASSERT_TRUE(wait_until([&] { return a->startable().size() == kBuckets; }));
  server_->freeze();
  const auto frozen = BootClock::now();
  // A renewal may have been sent just before; none that was sent later is answered.
  ASSERT_TRUE(wait_until([&] {
    for (BucketId bucket = 0; bucket < kBuckets; ++bucket)
      EXPECT_FALSE(a->thread().may_start(bucket, frozen + milliseconds(810)));
    return a->startable().empty();
  }));
  ASSERT_TRUE(wait_until([&] { return a->thread().status().has_trouble; }));
  std::this_thread::sleep_until(std::chrono::steady_clock::now() + milliseconds(1500));
  EXPECT_THAT(a->notes(), SizeIs(1));
  EXPECT_THAT(a->startable(), IsEmpty());
  server_->thaw();
  ASSERT_TRUE(wait_until([&] { return a->startable().size() == kBuckets; }))
      << "no other crawler has claimed them";
  ASSERT_TRUE(wait_until([&] { return !a->thread().status().has_trouble; }));
  ASSERT_THAT(a->notes(), SizeIs(2));
  EXPECT_THAT(a->notes()[0], HasSubstr(server_->port()));
  EXPECT_EQ(a->notes()[1], "recovered");
  EXPECT_EQ(a->thread().status().lost, 0u);
}

TEST_F(OwnershipThreadTest, TheSecondOneOfANameFailsAndTheFirstGoesOn) {
  auto a = owner("a");
  ASSERT_TRUE(wait_until([&] { return a->startable().size() == kBuckets; }));
  auto again = owner("a", milliseconds(1000), "another session");
  ASSERT_TRUE(wait_until([&] { return !again->notes().empty(); }));
  EXPECT_THAT(again->notes()[0], HasSubstr("failed: another crawler of this crawl"));
  EXPECT_THAT(again->startable(), IsEmpty());
  EXPECT_THAT(a->notes(), IsEmpty());
  EXPECT_THAT(a->startable(), SizeIs(kBuckets));
}

TEST_F(OwnershipThreadTest, AfterAFailureWhatIsOwnedCanStillBeReleased) {
  auto a = owner("a");
  ASSERT_TRUE(wait_until([&] { return a->startable().size() == kBuckets; }));
  // As another process of this name, which this one takes for its successor.
  const std::string rival = encode_member({.session = "rival", .beat = 1, .buckets = 1, .idle = 1});
  server_->cli({"hset", "{crawl:mem}", "a", rival});
  ASSERT_TRUE(wait_until([&] { return !a->notes().empty(); }));
  EXPECT_THAT(a->notes()[0], HasSubstr("failed: "));
  EXPECT_THAT(a->startable(), IsEmpty());
  const auto owned = a->owned();
  ASSERT_THAT(owned, SizeIs(kBuckets));
  EXPECT_EQ(a->thread().release(7, owned.at(7)).get().code, Code::kDone);
  EXPECT_EQ(server_->cli({"hget", "{crawl:7}m", "t"}), "");
  EXPECT_NE(server_->cli({"hget", "{crawl:8}m", "t"}), "");
}

TEST_F(OwnershipThreadTest, IdlenessIsWrittenIntoTheTableOfMembers) {
  auto a = owner("a");
  ASSERT_TRUE(wait_until([&] { return a->startable().size() == kBuckets; }));
  BucketStore store(*client_, BucketKeys("crawl"), true);
  const auto mark = [&] {
    const auto members = store.members().value();
    return members.empty() ? 0 : members[0].record.idle;
  };
  EXPECT_EQ(mark(), 0u);
  a->thread().set_idle(12345);
  EXPECT_TRUE(wait_until([&] { return mark() == 12345; }));
  a->thread().set_idle(0);
  EXPECT_TRUE(wait_until([&] { return mark() == 0; }));
}

TEST(OwnershipThreads, AFailoverInterruptsThemAndNothingMore) {
  SKIP_WITHOUT_REDIS();
  RedisClusterServers servers;
  const milliseconds lease(4000);
  Owner a(servers.addresses(), "a", "s-a", lease), b(servers.addresses(), "b", "s-b", lease);
  const auto all_start = [&] {
    EXPECT_EQ(shared_by(a, b), 0u);
    return a.startable().size() + b.startable().size() == kBuckets && !b.startable().empty();
  };
  ASSERT_TRUE(wait_until(all_start, std::chrono::seconds(40)));
  test::RedisServer& master = servers.master_of("{crawl:0}m");
  test::RedisServer& replica = servers.replica_of(master);
  master.stop();
  servers.wait_for_master(replica);
  // Until it is back, nothing that is written to its buckets is in two places.
  ASSERT_TRUE(wait_until([&] { return a.thread().status().has_trouble; }));
  master.start();
  ASSERT_TRUE(wait_until(
      [&] {
        return all_start() && !a.thread().status().has_trouble && !b.thread().status().has_trouble;
      },
      std::chrono::seconds(40)));
  EXPECT_THAT(a.notes(), testing::Not(testing::Contains(HasSubstr("failed"))));
  EXPECT_LE(a.notes().size() + b.notes().size(), 8u);
  for (const Owner* owner : {&a, &b})
    for (const std::string& note : owner->notes())
      fmt::print("{}\n", note);
}

}  // namespace
}  // namespace trawl
