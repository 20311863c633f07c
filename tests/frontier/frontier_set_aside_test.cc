// URLs set aside: how many are kept, and by which keys.
#include <set>
#include <thread>

#include "tests/frontier/frontier_fixture.h"
#include "tests/frontier/virtual_clocks.h"

namespace trawl {
namespace {

using namespace std::chrono_literals;

class FrontierSetAside : public test::FrontierFixture {
 protected:
  FrontierSetAside() {
    options_ = options();
    clocks_.use_in(options_);
    options_.testing.deterministic_seed = 5;
    options_.store.max_memory = kMinFrontierMemory;
    options_.retry.retries = 0;
    options_.retry.host_backoff = 0ms;
  }
  void open_anew() {
    frontier_.reset();
    frontier_ = open(options_);
  }
  void close_and_open() {
    ASSERT_TRUE(frontier_->close());
    open_anew();
  }
  Lease lease_one() {
    auto leases = lease(*frontier_, 1);
    EXPECT_EQ(leases.size(), 1u);
    return leases.empty() ? Lease{} : leases.front();
  }
  Lease lease_of(const std::string& url) {
    static_cast<void>(offer_one(*frontier_, url));
    return lease_one();
  }
  std::vector<SetAsideUrl> listed() { return frontier_->set_aside({}, 1000).value(); }
  std::uint64_t retry(const RetryWhich& which) { return frontier_->retry(which).value(); }
  std::vector<Admission> complete_holding(const Lease& lease, const std::string& link,
                                          std::string_view reason, std::uint32_t depth = 7) {
    const UrlRequest request{.url = link,
                             .priority = 3,
                             .depth = depth,
                             .note = "noted",
                             .hold = HoldReason{.reason = reason, .rules = 5}};
    return frontier_->complete(lease.id, {.status = 200}, {&request, 1}).value();
  }

  test::VirtualClocks clocks_;
  EmbeddedOptions options_;
  std::unique_ptr<Frontier> frontier_;
};

TEST_F(FrontierSetAside, SaysWhetherThereIsRoomForAnother) {
  options_.store.max_set_aside = 2;
  open_anew();
  ASSERT_TRUE(frontier_->hold(lease_of("http://a.test/1").id, {.reason = "rule"}));
  ASSERT_TRUE(frontier_->flush());
  EXPECT_TRUE(frontier_->has_room_to_set_aside().value());
  Outcome failed;
  failed.status = 404;
  ASSERT_TRUE(frontier_->complete(lease_of("http://b.test/1").id, failed, {}));
  ASSERT_TRUE(frontier_->flush());
  EXPECT_FALSE(frontier_->has_room_to_set_aside().value());
  ASSERT_EQ(retry({.state = SetAsideState::kFailed}), 1u);
  EXPECT_TRUE(frontier_->has_room_to_set_aside().value());
  frontier_.reset();
  options_.store.max_set_aside = 0;
  open_anew();
  EXPECT_FALSE(frontier_->has_room_to_set_aside().value());
}

TEST_F(FrontierSetAside, ThereIsABoundAndWhatFindsNoRoomIsCounted) {
  options_.store.max_set_aside = 4;
  open_anew();
  for (int i = 0; i < 4; ++i)
    complete_holding(lease_of(fmt::format("http://a.test/{}", i)),
                     fmt::format("http://b.test/{}", i), "too_deep");
  ASSERT_TRUE(frontier_->flush());
  EXPECT_EQ(frontier_->stats()->held, 2u) << "half of it is for links";
  EXPECT_EQ(frontier_->stats()->not_set_aside, 2u);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(frontier_->hold(lease_of(fmt::format("http://c.test/{}", i)).id, {.reason = "r"}));
  ASSERT_TRUE(frontier_->flush());
  EXPECT_EQ(frontier_->stats()->held, 4u);
  EXPECT_EQ(frontier_->stats()->not_set_aside, 3u);
  EXPECT_TRUE(frontier_->progress()->finished);
}

TEST_F(FrontierSetAside, N1_SomeAreKeptBeyondTheBound) {
  for (const std::uint64_t most : {0u, 1u}) {
    SCOPED_TRACE(most);
    options_.store.max_set_aside = most;
    options_.directory = this->options().directory.parent_path() / fmt::format("bound-{}", most);
    open_anew();
    ASSERT_TRUE(frontier_->complete(lease_of("http://a.test/0").id, {.status = 404}, {}));
    ASSERT_TRUE(frontier_->complete(lease_of("http://a.test/1").id,
                                    {.error = "it crashed", .keep_failed = true}, {}));
    ASSERT_TRUE(
        frontier_->hold(lease_of("http://a.test/2").id, {.reason = "suspect", .always = true}));
    ASSERT_TRUE(frontier_->hold(lease_of("http://a.test/3").id, {.reason = "rule"}));
    ASSERT_TRUE(frontier_->flush());
    EXPECT_EQ(frontier_->stats()->held, 1u);
    EXPECT_EQ(frontier_->stats()->set_aside_failed, 1u + most);
    EXPECT_EQ(frontier_->stats()->not_set_aside, 2u - most);
    close_and_open();
    EXPECT_EQ(retry({.reason = "suspect"}), 1u);
    EXPECT_EQ(lease_one().url, "http://a.test/2");
    EXPECT_EQ(retry({.key = "http://a.test/1"}), 1u);
    EXPECT_EQ(lease_one().url, "http://a.test/1");
    frontier_.reset();
  }
}

// Each call of set_aside() and retry() finds a URL by the key that the rules give it.
TEST_F(FrontierSetAside, N1_OtherRulesForKeysLoseNoneAndRepeatNone) {
  constexpr std::size_t kUrls = 2500;
  constexpr std::string_view kLink = "http://far.test/?b=1&a=2";
  open_anew();
  const auto url_of = [](std::size_t i) { return fmt::format("http://a.test/{}?b=1&a=2", i); };
  for (std::size_t i = 0; i < kUrls; ++i)
    static_cast<void>(offer_one(*frontier_, url_of(i)));
  for (const Lease& lease : lease_all(*frontier_))
    ASSERT_TRUE(frontier_->complete(lease.id, {.status = 404}, {}));
  complete_holding(lease_of("http://b.test/"), std::string(kLink), "too_deep");
  complete_holding(lease_of("http://b.test/2"), "http://far.test/?z=1&y=2", "too_deep");
  ASSERT_TRUE(frontier_->hold(lease_of("http://far.test/?y=2&z=1").id, {.reason = "r"}));
  ASSERT_TRUE(frontier_->flush());
  ASSERT_EQ(frontier_->stats()->held, 3u);

  // There and back, and to other rules without a look.
  for (const bool sorted : {true, false, true}) {
    SCOPED_TRACE(sorted);
    options_.seen.profile.rules.sort_query = sorted;
    options_.seen.replace_profile = true;
    open_anew();  // without close()
    EXPECT_EQ(frontier_->stats()->set_aside_failed, kUrls);
    EXPECT_EQ(frontier_->stats()->held, 2u) << "two of them are the same now";
    std::set<std::string> found;
    std::string after;
    for (std::size_t pages = 0; pages < 10; ++pages) {
      const auto page = frontier_->set_aside(after, 1000).value();
      if (page.empty()) break;
      for (const SetAsideUrl& url : page)
        EXPECT_TRUE(found.insert(url.url).second) << url.url;
      after = page.back().position;
    }
    EXPECT_EQ(found.size(), kUrls + 2);
    EXPECT_TRUE(found.contains("http://far.test/?y=2&z=1")) << "the one that was queued stays";
  }
  EXPECT_EQ(retry({.key = url_of(7)}), 1u);
  EXPECT_EQ(lease_one().url, url_of(7));
  const std::string again = url_of(8);
  const UrlRequest request{.url = again, .again = true};
  ASSERT_TRUE(frontier_->offer({&request, 1}));
  EXPECT_EQ(frontier_->stats()->set_aside_failed, kUrls - 2) << "it is queued";
  EXPECT_EQ(retry({.reason = "too_deep"}), 1u);
  EXPECT_EQ(retry({}), kUrls - 2 + 1);
  EXPECT_EQ(retry({}), 0u);
  EXPECT_TRUE(listed().empty());
  EXPECT_EQ(lease_all(*frontier_).size(), kUrls + 1);
}

// N1: what was set aside is there after a crash, queued or set aside but never both.
TEST_F(FrontierSetAside, N1_ACrashLosesNoneOfThem) {
  options_.testing.deterministic_seed.reset();
  open_anew();
  for (int i = 0; i < 100; ++i)
    static_cast<void>(offer_one(*frontier_, fmt::format("http://a.test/{}", i)));
  for (const Lease& lease : lease_all(*frontier_))
    ASSERT_TRUE(frontier_->hold(lease.id, {.reason = "r"}));
  ASSERT_TRUE(frontier_->flush());
  open_anew();  // without close()
  EXPECT_EQ(listed().size(), 100u);
  EXPECT_EQ(retry({.host = "a.test"}), 100u);
  open_anew();
  EXPECT_TRUE(listed().empty());
  EXPECT_EQ(lease_all(*frontier_).size(), 100u);
}

}  // namespace
}  // namespace trawl
