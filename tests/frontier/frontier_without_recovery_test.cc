// A frontier that has no checkpoints, whose filter the one who opens it reads from its store.
#include <memory>

#include <gtest/gtest.h>

#include "frontier/frontier_impl.h"
#include "frontier/store/rocks_store.h"
#include "tests/frontier/frontier_calls.h"
#include "tests/support/temporary_directory.h"

namespace trawl::test {
namespace {

class FrontierWithoutRecoveryTest : public ::testing::TestWithParam<bool>, protected FrontierCalls {
 protected:
  std::unique_ptr<Frontier> open() const {
    EmbeddedOptions options = options_for(path());
    options.testing.clock = [] { return std::chrono::steady_clock::now(); };
    options.testing.wall_clock = [] { return std::chrono::system_clock::now(); };
    const KeyedHash hash = KeyedHash::from_seed(1);
    auto store =
        RocksStore::open(path(), {.memory = MemoryPlan::of(options.store.max_memory)}).value();
    const Counters counters = store->counters().value();
    auto filter =
        GrowingBloomFilter::create({.capacity = 1000, .false_positive_rate = 1e-9, .hash = hash})
            .value();
    const auto read =
        store->replay_admissions(0, [&](std::uint64_t, std::span<const Fingerprint> fingerprints) {
          for (const Fingerprint fingerprint : fingerprints)
            filter.insert(fingerprint);
        });
    EXPECT_TRUE(read);
    auto frontier = std::make_unique<FrontierImpl>(
        options, FrontierParts{.recovery = nullptr,
                               .store = std::move(store),
                               .partitions = std::make_unique<Partitions>(
                                   std::make_unique<Partition>(std::move(filter), counters)),
                               .clock = static_cast<std::int64_t>(counters.clock),
                               .hash = hash,
                               .ledger = false,
                               .set_aside_keys_changed = false,
                               .resumed = counters.admitted > 0,
                               .real_clock = true,
                               .ends_follow_links = GetParam()});
    EXPECT_TRUE(frontier->restore());
    return frontier;
  }
  std::filesystem::path path() const { return directory_.path() / "store"; }

  TemporaryDirectory directory_;
};

TEST_P(FrontierWithoutRecoveryTest, N1_A2_WhatItsStoreHasIsThereAtTheNextOpening) {
  {
    const auto frontier = open();
    offer(*frontier, {"http://a.test/", "http://b.test/"});
    ASSERT_TRUE(frontier->flush());
    for (const Lease& lease : lease(*frontier, 1))
      complete(*frontier, lease, {"http://c.test/"});
    ASSERT_TRUE(frontier->close());
  }
  const auto frontier = open();
  EXPECT_EQ(stats(*frontier).admitted, 3u);
  EXPECT_EQ(stats(*frontier).completed, 1u);
  for (const char* url : {"http://a.test/", "http://b.test/", "http://c.test/"})
    EXPECT_EQ(offer_one(*frontier, url), Admission::kSeen) << url;
  EXPECT_EQ(lease_all(*frontier).size(), 2u);
}

TEST_P(FrontierWithoutRecoveryTest, ACheckpointIsThatEverythingIsInTheStore) {
  const auto frontier = open();
  offer(*frontier, {"http://a.test/"});
  EXPECT_TRUE(frontier->checkpoint());
  EXPECT_EQ(stats(*frontier).admitted, 1u);
  EXPECT_TRUE(frontier->request_checkpoint());
  EXPECT_EQ(stats(*frontier).checkpoints, 0u);
  ASSERT_TRUE(frontier->close());
  EXPECT_EQ(frontier->checkpoint().error().code, ErrorCode::kClosed);
  EXPECT_EQ(frontier->request_checkpoint().error().code, ErrorCode::kClosed);
  EXPECT_TRUE(frontier->close());
}

INSTANTIATE_TEST_SUITE_P(EndsFollowLinks, FrontierWithoutRecoveryTest, ::testing::Bool());

}  // namespace
}  // namespace trawl::test
