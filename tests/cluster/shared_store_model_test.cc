// A whole frontier whose store is in Redis, of one bucket: the model of the embedded one is that of
// this one too.
#include <atomic>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "frontier/frontier_impl.h"
#include "frontier/shared/shared_store.h"
#include "tests/cluster/redis_fixture.h"
#include "tests/frontier/frontier_calls.h"
#include "tests/frontier/frontier_model_run.h"

namespace trawl::test {
namespace {

constexpr BucketId kOnly = 0;  // of one bucket
#ifdef __SANITIZE_THREAD__
constexpr std::uint64_t kSequences = 10;  // one thread calls: the other presets run more
#else
constexpr std::uint64_t kSequences = 40;
#endif

// A crawler that owns the bucket. It must outlive the frontier.
class Crawler {
 public:
  explicit Crawler(const RedisServer& server)
      : server_(server),
        claims_(RedisClient::connect({.addresses = {server.address()}}).value()),
        buckets_(*claims_, BucketKeys("crawl"), true) {}

  Result<std::unique_ptr<Frontier>> open(EmbeddedOptions options, const std::string& token) {
    const KeyedHash hash = *options.testing.hash;
    options.seen.mode = FilterMode::kBloom;
    const BucketMeta meta = claim(token);
    auto store = connect(UrlIdentity(hash, options.seen.profile, 1));
    auto filter = GrowingBloomFilter::create({.capacity = 1000, .false_positive_rate = 1e-12});
    const auto counters =
        (*store)->take(kOnly, token, meta, {.fingerprints = [&](std::span<const Fingerprint> urls) {
                         for (const Fingerprint url : urls)
                           filter->insert(Partition::key_of(url, Partition::Keys::kLower));
                       }});
    if (!counters) return tl::unexpected(counters.error());
    auto frontier = std::make_unique<FrontierImpl>(
        options,
        FrontierParts{.recovery = nullptr,
                      .store = std::move(*store),
                      .partitions = std::make_unique<Partitions>(std::make_unique<Partition>(
                          std::move(*filter), *counters, Partition::Keys::kLower)),
                      .clock = static_cast<std::int64_t>(counters->clock),
                      .hash = hash,
                      .ledger = false,
                      .set_aside_keys_changed = false,
                      .resumed = counters->admitted > 0,
                      .real_clock = false,
                      .ends_follow_links = true,
                      .buckets = 1});
    if (auto restored = frontier->restore(); !restored) return tl::unexpected(restored.error());
    return frontier;
  }
  // Whether a write found that another one owns the bucket.
  bool has_lost() const { return lost_.load(); }
  // URLs that wait, by the totals of the bucket.
  std::uint64_t open_urls() { return claim("end").open; }
  // The URLs that the next owner finds.
  std::uint64_t urls_there() {
    auto store = connect(UrlIdentity(KeyedHash::random(), Profile{}, 1));
    std::uint64_t urls = 0;
    EXPECT_TRUE((*store)->take(kOnly, "end", claim("end"),
                               {.host = [&](const LoadedHost& host) { urls += host.urls; }}));
    EXPECT_TRUE((*store)->visit_deferred([&](const DeferredUrl&) { return ++urls > 0; }));
    return urls;
  }

 private:
  BucketMeta claim(const std::string& token) {
    const auto owner = buckets_.owners(std::span(&kOnly, 1))[0].value();
    const BucketStore::Claim claim{.bucket = kOnly, .seen = owner, .token = token};
    const auto claimed = buckets_.claim(std::span(&claim, 1))[0];
    EXPECT_EQ(claimed.result.code, BucketStore::Written::Code::kDone);
    return claimed.meta;
  }
  Result<std::unique_ptr<SharedStore>> connect(UrlIdentity identity) {
    auto store = SharedStore::open({.redis = {.addresses = {server_.address()}},
                                    .crawl = "crawl",
                                    .identity = std::move(identity),
                                    .lost = [this](BucketId, const Error& error) {
                                      lost_.store(error.code == ErrorCode::kInUse);
                                    }});
    EXPECT_TRUE(store) << store.error().message;
    return store;
  }

  const RedisServer& server_;
  const std::unique_ptr<RedisClient> claims_;
  BucketStore buckets_;
  std::atomic<bool> lost_{false};
};

RedisServer* model_server = nullptr;
std::unique_ptr<Crawler> model_crawler;

Result<std::unique_ptr<Frontier>> open_in_redis(const EmbeddedOptions& options, OpenReport*) {
  model_server->cli({"flushall"});
  model_crawler = std::make_unique<Crawler>(*model_server);
  return model_crawler->open(options, "a");
}

class SharedStoreModelTest : public RedisFixture, protected FrontierCalls {
 protected:
  static EmbeddedOptions options() {
    EmbeddedOptions options = options_for("none");
    options.testing.clock = [] { return std::chrono::steady_clock::now(); };
    options.testing.wall_clock = [] { return std::chrono::system_clock::now(); };
    return options;
  }
};

TEST_F(SharedStoreModelTest, N1_N3_A1_A2_P1_RandomCallsFollowTheModelOfTheEmbeddedFrontier) {
  model_server = server_.get();
  const Implementation in_redis{.name = "Redis", .open = open_in_redis, .is_durable = false};
  const char* given = std::getenv("TRAWL_MODEL_SEED");
  const std::uint64_t first = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  for (std::uint64_t i = 0; i < (given ? 1 : kSequences) && !HasFailure(); ++i) {
    SCOPED_TRACE("TRAWL_MODEL_SEED=" + std::to_string(first + i));
    FrontierModelRun(first + i, in_redis).run();
    EXPECT_EQ(model_crawler->open_urls(), model_crawler->urls_there())
        << "a URL ended that was not there, or is there twice";
  }
  model_crawler.reset();
}

// Of a crawler that is killed; and its last writes are refused.
TEST_F(SharedStoreModelTest, N1_A2_TheNextOwnerHasWhatWasDurable) {
  Crawler dead(*server_);
  auto first = dead.open(options(), "a");
  ASSERT_TRUE(first) << first.error().message;
  std::vector<std::string> urls;
  for (int i = 0; i < 300; ++i)
    urls.push_back("http://h" + std::to_string(i % 7) + ".test/" + std::to_string(i));
  offer(**first, urls);
  const auto leases = lease(**first, 50);
  ASSERT_EQ(leases.size(), 50u);
  for (std::size_t i = 0; i < 30; ++i)
    complete(**first, leases[i], {"http://link.test/" + std::to_string(i)});
  ASSERT_TRUE((*first)->hold(leases[30].id, {.reason = "robots"}));
  ASSERT_TRUE((*first)->set_host("h1.test", {.leases = 5}));
  const UrlRequest later{.url = "http://later.test/",
                         .not_before = std::chrono::system_clock::now() + std::chrono::hours(1)};
  ASSERT_TRUE((*first)->offer(std::span(&later, 1)));
  ASSERT_TRUE((*first)->flush());
  const FrontierStats before = stats(**first);

  Crawler next(*server_);
  auto second = next.open(options(), "b");
  ASSERT_TRUE(second) << second.error().message;
  const UrlRequest refused{.url = "http://refused.test/"};
  EXPECT_FALSE((*first)->offer(std::span(&refused, 1), OfferWait::kDurable)) << "another owns it";
  EXPECT_TRUE(dead.has_lost());
  const FrontierStats after = stats(**second);
  EXPECT_EQ(after.admitted, before.admitted);
  EXPECT_EQ(after.completed, before.completed);
  EXPECT_EQ(after.deferred, 1u);
  EXPECT_EQ(after.held, 1u);
  EXPECT_EQ(after.queued, 300u + 30u - 31u);
  EXPECT_EQ((*second)->host("h1.test")->settings.leases, 5u);
  for (const std::string& url : urls)
    EXPECT_EQ(offer_one(**second, url), Admission::kSeen) << url;
  EXPECT_EQ((*second)->retry({}).value(), 1u);
  std::size_t done = 0;
  for (auto some = lease(**second, 100); !some.empty(); some = lease(**second, 100)) {
    for (const Lease& lease : some)
      complete(**second, lease);
    done += some.size();
  }
  EXPECT_EQ(done, 300u + 30u - 30u);
  EXPECT_TRUE((*second)->close());
  EXPECT_EQ(next.open_urls(), 1u) << "the one for later";
  EXPECT_EQ(next.urls_there(), 1u);
}

}  // namespace
}  // namespace trawl::test
