// Two crawlers take buckets from each other at random, and a failover takes back what was written:
// what was admitted is in its bucket or in its inbox.
#include <array>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "frontier/shared/shared_store.h"
#include "frontier/shared/url_messages.h"
#include "tests/cluster/owner_batches.h"
#include "tests/cluster/redis_fixture.h"

namespace trawl {
namespace {

using test::host_in;
using test::identity;
using test::OwnerBatches;
using test::url_of;

constexpr std::array<BucketId, 3> kUsed = {2, 5, 11};
constexpr int kSteps = 150;

class SharedStoreRandomTest : public test::RedisFixture {
 protected:
  struct Owned {
    std::string token;
    OwnerBatches batches;
    std::vector<std::pair<std::string, std::uint64_t>> open;  // URLs that this owner admitted
  };
  struct Crawler {
    std::unique_ptr<SharedStore> store;
    std::map<BucketId, Owned> owned;  // as far as it knows
    std::vector<BucketId> lost;
  };

  void begin(std::uint64_t seed, bool replicated) {
    random_.seed(seed);
    server_->cli({"flushall"});
    buckets_ = std::make_unique<BucketStore>(*client_, BucketKeys("crawl"), true);
    promised_.clear();
    ended_.clear();
    crawlers_ = {};
    for (Crawler& crawler : crawlers_) {
      auto store = SharedStore::open(
          {.redis = {.addresses = {server_->address()}},
           .crawl = "crawl",
           .replicated = replicated,
           .identity = identity(),
           .lost = [&crawler](BucketId id, const Error&) { crawler.lost.push_back(id); }});
      ASSERT_TRUE(store) << store.error().message;
      crawler.store = std::move(*store);
    }
    keep();
  }
  std::uint64_t pick(std::uint64_t below) { return random_() % below; }

  void take(Crawler& crawler, BucketId bucket) {
    // What ownership reports: the frontier passes on and drops it.
    drop(crawler, bucket);
    const auto owner = buckets_->owners(std::span(&bucket, 1))[0].value();
    const BucketStore::Claim claim{
        .bucket = bucket, .seen = owner, .token = "token " + std::to_string(++tokens_)};
    const auto claimed = buckets_->claim(std::span(&claim, 1))[0];
    ASSERT_EQ(claimed.result.code, BucketStore::Written::Code::kDone);
    const auto counters = crawler.store->take(bucket, claim.token, claimed.meta, {});
    ASSERT_TRUE(counters) << counters.error().message;
    crawler.owned.emplace(
        bucket,
        Owned{.token = claim.token, .batches = OwnerBatches(bucket, *counters), .open = {}});
  }
  void drop(Crawler& crawler, BucketId bucket) {
    ASSERT_TRUE(crawler.store->pass_on(bucket));
    crawler.store->end(bucket);
    crawler.owned.erase(bucket);
  }
  // A group over some of its buckets.
  void write(Crawler& crawler) {
    std::vector<BatchPart> parts;
    std::vector<std::pair<BucketId, std::string>> admitted, ended;
    for (auto& [bucket, owned] : crawler.owned) {
      if (pick(3) == 0) continue;
      owned.batches.batch().clear();
      for (std::uint64_t n = pick(3); n > 0; --n) {
        const std::string url = url_of(host_in(bucket, static_cast<int>(pick(2))), ++urls_);
        const std::int64_t later = pick(4) == 0 ? 1'900'000'000'000 : 0;
        const std::uint64_t sequence = owned.batches.admit({.url = url}, 0, later);
        if (later == 0) owned.open.emplace_back(url, sequence);
        admitted.emplace_back(bucket, url);
      }
      if (!owned.open.empty() && pick(2) == 0) {
        const auto [url, sequence] = owned.open.front();
        if (std::ranges::find(admitted, std::pair(bucket, url)) == admitted.end()) {
          owned.batches.end(url, sequence);
          owned.open.erase(owned.open.begin());
          ended.emplace_back(bucket, url);
        }
      }
      parts.push_back(owned.batches.part());
    }
    ASSERT_TRUE(crawler.store->write_parts(parts, {}));
    for (const auto& [bucket, url] : admitted)
      promised_[bucket].insert(url);
    for (const auto& [bucket, url] : ended)
      ended_[bucket].insert(url);
    for (const BucketId bucket : std::exchange(crawler.lost, {}))
      drop(crawler, bucket);
  }
  // Everything except inboxes, as it is now.
  void keep() {
    kept_.clear();
    RedisCommand list("KEYS", "x");
    const RedisAnswer listed = client_->run_one(list.arg("*"), {});
    for (const RedisReply& key : listed.reply->elements) {
      RedisCommand dump("DUMP", key.text);
      if (!key.text.ends_with("}i"))
        kept_[key.text] = client_->run_one(dump.arg(key.text), {}).reply->text;
    }
  }
  void take_back() {
    RedisCommand list("KEYS", "x");
    const RedisAnswer listed = client_->run_one(list.arg("*"), {});
    for (const RedisReply& key : listed.reply->elements) {
      RedisCommand remove("DEL", key.text);
      if (!key.text.ends_with("}i")) client_->run_one(remove.arg(key.text), {});
    }
    for (const auto& [key, value] : kept_) {
      RedisCommand restore("RESTORE", key);
      ASSERT_FALSE(client_->run_one(restore.arg(key).arg(0).arg(value), {}).reply->is_error());
    }
  }
  // Renewals that follow.
  void renew(Crawler& crawler) {
    std::vector<BucketId> fenced;
    for (const auto& [bucket, owned] : crawler.owned) {
      const auto owner = buckets_->owners(std::span(&bucket, 1))[0].value();
      if (owner.token != owned.token) {
        fenced.push_back(bucket);
      } else {
        crawler.store->note_version(bucket, owner.version);
      }
    }
    for (const BucketId bucket : fenced)
      drop(crawler, bucket);
    ASSERT_TRUE(crawler.store->write_parts({}, {}));
    for (const BucketId bucket : std::exchange(crawler.lost, {}))
      drop(crawler, bucket);
  }
  void check(BucketId bucket) {
    std::set<std::uint64_t> seen;
    ASSERT_TRUE(buckets_->visit_fingerprints(bucket, 9, [&](std::span<const std::uint64_t> part) {
      seen.insert(part.begin(), part.end());
    }));
    std::multiset<std::string> waiting;
    ASSERT_TRUE(buckets_->visit_hosts(bucket, [&](HostId host, const BucketHost& value) {
      for (const std::int32_t priority : value.priorities) {
        const auto queue = buckets_->read_queue(bucket, host, priority, 0, 10'000).value();
        for (const QueuedUrl& url : queue)
          waiting.emplace(decode_record(url.record)->url);
      }
    }));
    ASSERT_TRUE(buckets_->visit_deferred(
        bucket, [&](const DeferredUrl& url) { waiting.emplace(decode_record(url.record)->url); }));
    std::set<std::string> passed_on;
    const auto inbox = buckets_->read_inboxes(std::span(&bucket, 1), 10'000)[0].value();
    for (const InboxMessage& message : inbox) {
      const auto requests = decode_requests(message.body).value().requests;
      for (const UrlRequest& request : requests)
        passed_on.emplace(request.url);
    }
    for (const std::string& url : promised_[bucket]) {
      const bool known = seen.contains(identity().of_href(url)->low);
      EXPECT_TRUE(known || passed_on.contains(url)) << "lost: " << url;
      EXPECT_LE(waiting.count(url), 1u) << url;
      if (known && !ended_[bucket].contains(url)) {
        EXPECT_EQ(waiting.count(url), 1u) << "seen, and nowhere: " << url;
      }
    }
    passed_on_ += passed_on.size();
  }

  std::unique_ptr<BucketStore> buckets_;
  std::array<Crawler, 2> crawlers_;
  std::map<BucketId, std::set<std::string>> promised_, ended_;
  std::map<std::string, std::string> kept_;
  std::mt19937_64 random_;
  int tokens_ = 0, urls_ = 0;
  std::size_t passed_on_ = 0;
};

TEST_F(SharedStoreRandomTest, N1_WhatWasAdmittedIsInItsBucketOrItsInbox) {
  const std::uint64_t first = std::random_device{}();
  std::uint64_t replayed = 0;
  for (std::uint64_t seed = first; seed < first + 12 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const bool replicated = seed % 3 == 0;
    begin(seed, replicated);
    for (int step = 0; step < kSteps && !HasFatalFailure(); ++step) {
      Crawler& crawler = crawlers_[pick(2)];
      const std::uint64_t what = pick(20);
      if (what < 3) {
        take(crawler, kUsed[pick(kUsed.size())]);
      } else if (what == 3 && !replicated) {
        keep();
      } else if (what == 4 && !replicated) {
        take_back();
      } else {
        write(crawler);
      }
    }
    for (Crawler& crawler : crawlers_) {
      renew(crawler);
      replayed += crawler.store->counts().replayed;
    }
    for (const BucketId bucket : kUsed)
      check(bucket);
    crawlers_ = {};
  }
  if (client_ == nullptr) return;
  EXPECT_GT(passed_on_, 0u);
  EXPECT_GT(replayed, 0u);
}

}  // namespace
}  // namespace trawl
