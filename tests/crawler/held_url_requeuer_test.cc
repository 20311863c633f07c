// Origins whose URLs are held, and when these are offered again.
#include "crawler/run/held_url_requeuer.h"

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trawl/embedded_frontier.h"

#include "crawler/run/held_urls.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

TEST(HeldOrigins, AreBounded) {
  HeldOrigins origins;
  for (std::size_t i = 0; i < HeldOrigins::kMost; ++i)
    ASSERT_TRUE(origins.add(fmt::format("http://h{}", i), "why"));
  EXPECT_FALSE(origins.add("http://other", "why"));
  EXPECT_TRUE(origins.add("http://h1", "again")) << "it is held already";
  EXPECT_EQ(origins.count(), HeldOrigins::kMost);
  origins.release("http://h1");
  EXPECT_FALSE(origins.add("http://other", "why")) << "its URLs are not offered yet";
  origins.offered(origins.take_released());
  EXPECT_TRUE(origins.add("http://other", "why"));
}

TEST(HeldOrigins, OneThatIsHeldAgainMeanwhileStays) {
  HeldOrigins origins;
  ASSERT_TRUE(origins.add("http://a", "why"));
  EXPECT_FALSE(origins.has_released());
  origins.release("http://a");
  EXPECT_TRUE(origins.has_released());
  const auto taken = origins.take_released();
  EXPECT_EQ(taken.size(), 1u);
  EXPECT_FALSE(origins.has_released());
  ASSERT_TRUE(origins.add("http://a", "again"));
  origins.offered(taken);
  EXPECT_EQ(origins.example(), std::make_pair(std::string("http://a"), std::string("again")));
}

TEST(HeldUrls, HaveOriginsWithoutCredentials) {
  EXPECT_EQ(origin_of("https://h.test/x"), "https://h.test");
  EXPECT_EQ(origin_of("https://h.test:8080/x@y"), "https://h.test:8080");
  EXPECT_EQ(origin_of("https://u:p@h.test/x"), "https://h.test");
  EXPECT_EQ(origin_of("https://u@h.test:8080/"), "https://h.test:8080");
  EXPECT_EQ(origin_of("none"), "");
}

class HeldUrlRequeuerTest : public testing::Test {
 protected:
  static std::unique_ptr<Frontier> open(const test::TemporaryDirectory& directory) {
    EmbeddedOptions options;
    options.directory = directory.path() / "state";
    options.seen.expected_urls = 10'000;
    options.politeness.delay = std::chrono::milliseconds(0);
    options.store.shards = 1;
    return std::move(EmbeddedFrontier::open(options).value());
  }
  void hold(const std::string& url, std::string_view reason) {
    const UrlRequest request{.url = url};
    ASSERT_TRUE(frontier_->offer({&request, 1}));
    std::vector<Lease> leases;
    while (leases.empty())
      leases = frontier_->lease({.max = 1}).value();
    ASSERT_TRUE(frontier_->hold(leases[0].id, {.reason = reason}));
    ASSERT_TRUE(frontier_->flush());
  }
  // Until it is not at work.
  void run_step(bool idle) {
    while (offers_.run_step(idle).value())
      std::this_thread::yield();
  }

  const test::TemporaryDirectory directory_;
  const std::unique_ptr<Frontier> frontier_ = open(directory_);
  HeldOrigins origins_;
  HeldUrlRequeuer offers_{*frontier_, origins_};
};

TEST_F(HeldUrlRequeuerTest, QueueTheUrlsOfAllOriginsReleasedAtOnceAndNoOthers) {
  for (int i = 0; i < 10; ++i) {
    const std::string host = fmt::format("h{}.test", i);
    ASSERT_TRUE(origins_.add("https://" + host, "why"));
    hold("https://" + host + "/1", kRobotsUnavailable);
    hold("https://user:secret@" + host + "/2", kTlsRefused);
    hold("https://" + host + "/3", "out of scope");
    hold("https://" + host + ":8443/4", kRobotsUnavailable);
  }
  run_step(true);
  EXPECT_EQ(frontier_->stats()->requeued, 0u);
  for (int i = 0; i < 8; ++i)
    origins_.release(fmt::format("https://h{}.test", i));
  EXPECT_TRUE(offers_.run_step(false).value());
  EXPECT_FALSE(origins_.has_released()) << "all are taken";
  run_step(false);
  EXPECT_EQ(frontier_->stats()->requeued, 16u);
  EXPECT_EQ(frontier_->stats()->held, 24u);
  EXPECT_EQ(origins_.count(), 2u);
}

TEST_F(HeldUrlRequeuerTest, TakeASmallPartOfTheTimeUnlessThereIsNothingElseToDo) {
  ASSERT_TRUE(origins_.add("https://a.test", "why"));
  hold("https://a.test/1", kRobotsUnavailable);
  ASSERT_TRUE(origins_.add("https://b.test", "why"));
  hold("https://b.test/1", kRobotsUnavailable);
  origins_.release("https://a.test");
  EXPECT_TRUE(offers_.run_step(false).value());
  // It is at work for as long as this takes, as far as it can see.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  origins_.release("https://b.test");
  EXPECT_FALSE(offers_.run_step(false).value());
  EXPECT_EQ(frontier_->stats()->requeued, 1u);
  run_step(true);
  EXPECT_EQ(frontier_->stats()->requeued, 2u);
}

TEST_F(HeldUrlRequeuerTest, LeaveTheRestHeldWhenStopped) {
  ASSERT_TRUE(offers_.stop());
  ASSERT_TRUE(origins_.add("https://a.test", "why"));
  hold("https://a.test/1", kRobotsUnavailable);
  origins_.release("https://a.test");
  run_step(true);
  EXPECT_EQ(frontier_->stats()->held, 1u);
  EXPECT_EQ(origins_.count(), 1u) << "its URLs are held";
}

}  // namespace
}  // namespace trawl
