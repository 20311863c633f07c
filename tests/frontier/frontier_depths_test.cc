// A URL found deep first and nearer later is leased with the smaller depth; and what that costs
// for all the others: nothing.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "frontier/recovery/depth_notes.h"
#include "frontier/recovery/state_directory.h"
#include "frontier/store/rocks_store.h"
#include "frontier/store/set_aside_record.h"
#include "tests/frontier/fake_store.h"
#include "tests/frontier/frontier_fixture.h"

namespace trawl::test {
namespace {

class FrontierDepths : public FrontierFixture {
 protected:
  static constexpr std::uint32_t kUrls = 3000;

  // Of ten hosts, each with depths of 0 to 10.
  static std::string url_of(std::uint32_t i) {
    return fmt::format("http://h{}.test/page/{}", i % 10, i);
  }
  static std::uint32_t depth_of(std::uint32_t i) { return i % 11; }
  // `less` than their own depths, if that is not below 0.
  static std::vector<Admission> offer_urls(Frontier& frontier, std::uint32_t less = 0) {
    std::vector<std::string> urls;
    for (std::uint32_t i = 0; i < kUrls; ++i)
      urls.push_back(url_of(i));
    std::vector<UrlRequest> requests;
    for (std::uint32_t i = 0; i < kUrls; ++i)
      requests.push_back({.url = urls[i], .depth = depth_of(i) - std::min(less, depth_of(i))});
    return frontier.offer(requests).value();
  }
  static void offer_at(Frontier& frontier, std::string_view url, std::uint32_t depth,
                       bool again = false) {
    const std::vector<UrlRequest> requests{{.url = url, .depth = depth, .again = again}};
    ASSERT_TRUE(frontier.offer(requests));
  }
  std::filesystem::path state() const { return options().directory; }
  // Of the store's logs, to which all is written first.
  std::uint64_t bytes_logged() const {
    std::uint64_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(store_path(state()))) {
      if (file.path().extension() == ".log") bytes += file.file_size();
    }
    return bytes;
  }
  std::uint64_t notes() const {
    const auto store =
        RocksStore::open_to_read(store_path(state()), {.memory = MemoryPlan::of(64 << 20)});
    std::uint64_t n = 0;
    EXPECT_TRUE((*store)->visit_depths([&](Fingerprint, std::uint32_t) { return ++n > 0; }));
    return n;
  }
  // Opens what a process that was killed now would leave.
  std::unique_ptr<Frontier> open_after_kill(std::unique_ptr<Frontier> frontier) const {
    const auto copy = directory_.path() / "copy";
    std::filesystem::copy(state(), copy, std::filesystem::copy_options::recursive);
    frontier.reset();
    std::filesystem::remove_all(state());
    std::filesystem::rename(copy, state());
    return open();
  }
};

TEST_F(FrontierDepths, AfterARestartKnownUrlsAtTheirOwnDepthsWriteNothing) {
  auto frontier = open();
  offer_urls(*frontier);
  for (int restart = 0; restart < 3; ++restart) {
    if (restart == 1) {
      ASSERT_TRUE(frontier->close());
      frontier.reset();
      frontier = open();
    } else if (restart == 2) {
      frontier = open_after_kill(std::move(frontier));
    }
    const std::uint64_t before = bytes_logged();
    for (const Admission admission : offer_urls(*frontier))
      ASSERT_EQ(admission, Admission::kSeen);
    EXPECT_EQ(bytes_logged(), before) << "restart " << restart;
  }
}

TEST_F(FrontierDepths, NothingIsNotedOfUrlsThatAreDone) {
  auto frontier = open();
  offer_urls(*frontier);
  for (const Lease& lease : lease_all(*frontier))
    complete(*frontier, lease);
  offer_at(*frontier, "http://h1.test/waits", 100);
  for (int restart = 0; restart < 2; ++restart) {
    const std::uint64_t before = bytes_logged();
    offer_urls(*frontier, 2);
    EXPECT_EQ(bytes_logged(), before) << "restart " << restart;
    if (restart == 0) frontier = open_after_kill(std::move(frontier));
  }
  offer_at(*frontier, "http://h1.test/waits", 7);
  EXPECT_EQ(lease_all(*frontier).at(0).depth, 7u) << "what waits is";
}

TEST_F(FrontierDepths, SmallerOnesAreLeasedAcrossRestartsAndKills) {
  auto frontier = open();
  offer_urls(*frontier);
  offer_urls(*frontier, 2);
  frontier = open_after_kill(std::move(frontier));
  std::uint64_t before = bytes_logged();
  offer_urls(*frontier, 1);
  offer_urls(*frontier, 2);
  EXPECT_EQ(bytes_logged(), before) << "they are noted";
  offer_urls(*frontier, 3);
  EXPECT_GT(bytes_logged(), before);
  ASSERT_TRUE(frontier->close());
  frontier.reset();
  frontier = open();
  before = bytes_logged();
  offer_urls(*frontier, 3);
  EXPECT_EQ(bytes_logged(), before);
  offer_at(*frontier, url_of(10), 5);
  frontier = open_after_kill(std::move(frontier));
  const auto leases = lease_all(*frontier);
  ASSERT_EQ(leases.size(), kUrls);
  for (const Lease& lease : leases) {
    const auto i =
        static_cast<std::uint32_t>(std::stoul(lease.url.substr(lease.url.rfind('/') + 1)));
    EXPECT_EQ(lease.depth, i == 10 ? 5 : depth_of(i) - std::min(3u, depth_of(i))) << lease.url;
  }
}

TEST_F(FrontierDepths, NotesGoWithTheirUrls) {
  auto frontier = open();
  offer_urls(*frontier);
  offer_urls(*frontier, 1);
  ASSERT_TRUE(frontier->drop_host("h3.test"));
  const auto leases = lease_all(*frontier);
  // Found nearer while they are fetched.
  offer_urls(*frontier, 2);
  for (std::size_t i = 0; i < leases.size(); ++i) {
    if (i % 3 == 0) {
      ASSERT_TRUE(frontier->fail(leases[i].id, FailureReason::kPermanent));
    } else {
      complete(*frontier, leases[i]);
    }
  }
  ASSERT_TRUE(frontier->flush());
  EXPECT_GT(frontier->stats()->depth_repairs, kUrls / 2);
  EXPECT_GT(frontier->retry({}).value(), 0u);
  for (const Lease& lease : lease_all(*frontier)) {
    const auto i =
        static_cast<std::uint32_t>(std::stoul(lease.url.substr(lease.url.rfind('/') + 1)));
    ASSERT_EQ(lease.depth, depth_of(i) - std::min(2u, depth_of(i)));
    complete(*frontier, lease);
  }
  offer_urls(*frontier, 4);
  EXPECT_TRUE(frontier->progress()->finished);
  ASSERT_TRUE(frontier->close());
  EXPECT_EQ(notes(), 0u);
}

// Of a store that an earlier Trawl wrote, or that was killed.
TEST_F(FrontierDepths, NotesOfUrlsThatDoNotWaitAreForgottenAtTheNextStart) {
  auto frontier = open();
  offer_urls(*frontier);
  offer_urls(*frontier, 1);
  ASSERT_TRUE(frontier->close());
  frontier.reset();
  const std::uint64_t waiting = notes();
  {
    const auto store = RocksStore::open(store_path(state()), {.memory = MemoryPlan::of(64 << 20)});
    ASSERT_TRUE(store);
    Store::Batch batch;
    for (std::uint64_t i = 0; i < 25'000; ++i)
      batch.lower_depth(options().testing.hash->operator()(std::to_string(i)), 1);
    ASSERT_TRUE((*store)->write(batch));
  }
  EXPECT_EQ(notes(), waiting + 25'000);
  frontier = open();
  ASSERT_TRUE(frontier->close());
  EXPECT_EQ(notes(), waiting);
}

TEST_F(FrontierDepths, OneHeldOrToBeRetriedCanStillBeFoundNearer) {
  EmbeddedOptions with_retries = options();
  with_retries.retry.retries = 3;
  with_retries.retry.retry_delay = std::chrono::milliseconds(0);
  with_retries.retry.host_failures = 0;
  with_retries.retry.host_backoff = std::chrono::milliseconds(0);
  auto frontier = open(with_retries);
  offer_at(*frontier, "http://a.test/held", 8);
  ASSERT_TRUE(frontier->hold(lease_all(*frontier).at(0).id, {.reason = "scope"}, {}));
  offer_at(*frontier, "http://a.test/held", 4);
  frontier = open_after_kill(std::move(frontier));
  offer_at(*frontier, "http://a.test/held", 3);
  EXPECT_EQ(frontier->retry({}).value(), 1u);
  const Lease held = lease_all(*frontier).at(0);
  EXPECT_EQ(held.depth, 3u);
  offer_at(*frontier, "http://a.test/held", 2);
  const Outcome again{.status = 200, .recrawl_at = std::chrono::system_clock::now()};
  ASSERT_TRUE(frontier->complete(held.id, again, {}));
  ASSERT_TRUE(frontier->flush());
  offer_at(*frontier, "http://a.test/held", 1);
  std::vector<Lease> leases;
  while (leases.empty())
    leases = lease_all(*frontier);
  EXPECT_EQ(leases[0].depth, 1u);
}

TEST_F(FrontierDepths, OfferedAgainAtAGreaterDepthItCanBeFoundNearerOnceMore) {
  auto frontier = open();
  for (int i = 0; i < 3; ++i) {
    offer_at(*frontier, "http://a.test/", 9, i > 0);
    offer_at(*frontier, "http://a.test/", 3);
    const Lease lease = lease_all(*frontier).at(0);
    EXPECT_EQ(lease.depth, 3u) << i;
    complete(*frontier, lease);
    ASSERT_TRUE(frontier->flush());
  }
  ASSERT_TRUE(frontier->close());
  EXPECT_EQ(notes(), 0u);
}

// Whichever of the two gets the answer "new".
TEST_F(FrontierDepths, OfferedAtTheSameMomentTheSmallerOneCounts) {
  auto frontier = open();
  constexpr std::uint32_t kCalls = 3000;
  const auto offers = [&](std::uint32_t depth) {
    for (std::uint32_t i = 0; i < kCalls; ++i)
      offer_at(*frontier, fmt::format("http://a.test/{}", i), depth);
  };
  offer_at(*frontier, "http://a.test/", 9);  // the first of the greatest depth comes alone
  std::thread near([&] { offers(3); });
  offers(9);
  near.join();
  for (const Lease& lease : lease_all(*frontier)) {
    EXPECT_EQ(lease.depth, lease.url == "http://a.test/" ? 9u : 3u) << lease.url;
  }
}

TEST_F(FrontierDepths, WhatTakesMoreRoomThanThereIsIsNotMissed) {
  FakeStore store;
  const UrlIdentity identity(KeyedHash::from_seed(1), Profile{});
  for (std::uint32_t i = 0; i < 500; ++i)
    store.put({.host = i,
               .order = {.sequence = i},
               .record = encode_record({.url = url_of(i), .depth = 5})});
  WaitingDepths depths(1 << 20);
  ASSERT_TRUE(read_waiting_depths(store, 5, identity, depths));
  EXPECT_TRUE(depths.is_full());
  for (std::uint32_t i = 0; i < 500; ++i)
    EXPECT_TRUE(depths.is_deeper(identity.of_href(url_of(i)).value(), 4));
}

}  // namespace
}  // namespace trawl::test
