// What a partition knows of its hosts as a whole.
#include "frontier/commit/partition.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "frontier/store/url_identity.h"

namespace trawl {
namespace {

constexpr std::size_t kUrls = 20'000;

using Keys = Partition::Keys;

GrowingBloomFilter empty_filter() {
  return GrowingBloomFilter::create({.capacity = kUrls, .false_positive_rate = 1e-3}).value();
}

// All of one domain, so that their bucket is one.
std::vector<Fingerprint> urls_from(std::size_t first) {
  const UrlIdentity identity(KeyedHash::from_seed(1), Profile{}, 256);
  std::vector<Fingerprint> urls;
  for (std::size_t i = 0; i < kUrls; ++i)
    urls.push_back(*identity.of_href("http://a.test/" + std::to_string(first + i)));
  return urls;
}

// Those of `urls` that the partition says are there.
std::size_t found_in(const Partition& partition, const std::vector<Fingerprint>& urls) {
  const auto found = std::make_unique<bool[]>(urls.size());
  const std::size_t count = partition.contains_batch(urls, {found.get(), urls.size()});
  std::size_t singly = 0;
  for (std::size_t i = 0; i < urls.size(); ++i) {
    singly += found[i] ? 1 : 0;
    EXPECT_EQ(partition.contains(urls[i]), found[i]);
  }
  EXPECT_EQ(count, singly);
  return count;
}

std::size_t wrong_with(Keys keys) {
  Partition partition(empty_filter(), Counters{}, keys);
  const auto urls = urls_from(0);
  const auto fresh = std::make_unique<bool[]>(urls.size());
  std::size_t inserted = partition.insert_batch(urls, {fresh.get(), urls.size()});
  EXPECT_EQ(found_in(partition, urls), kUrls) << "each is seen afterwards";
  EXPECT_EQ(partition.insert_batch(urls, {fresh.get(), urls.size()}), 0u);
  EXPECT_FALSE(fresh[0]);
  return kUrls - inserted + found_in(partition, urls_from(kUrls));
}

// The filter spreads keys by the half of a fingerprint that has the bucket.
TEST(Partition, ABucketsFilterIsAskedForTheLowerHalves) {
  EXPECT_LT(wrong_with(Keys::kLower), 2 * kUrls / 200) << "a rate of 1 in 1000";
  EXPECT_GT(wrong_with(Keys::kWhole), kUrls / 2) << "keys that differ below the bucket only";
}

// As a new owner has them, who reads only those halves.
TEST(Partition, ABucketsFilterCanBeRebuiltFromTheLowerHalves) {
  Partition partition(empty_filter(), Counters{}, Keys::kLower);
  const auto urls = urls_from(0);
  std::vector<Fingerprint> halves;
  for (const Fingerprint url : urls)
    halves.push_back({.high = 0, .low = url.low});
  const auto fresh = std::make_unique<bool[]>(urls.size());
  partition.insert_batch(halves, {fresh.get(), urls.size()});
  EXPECT_EQ(found_in(partition, urls), kUrls);
}

TEST(Partition, OffersCountedDuringACommitStay) {
  Counters before;
  before.seen = 5;
  Partition partition(empty_filter(), before);
  EXPECT_EQ(partition.next_deferred(), Partition::kNever);
  Counters totals = before;
  totals.admitted = 2;
  totals.seen += 3;
  partition.count_offers(10, 1);
  partition.take_totals(before, totals);
  EXPECT_EQ(partition.counters().admitted, 2u);
  EXPECT_EQ(partition.counters().seen, 18u);
  EXPECT_EQ(partition.counters().invalid, 1u);
}

}  // namespace
}  // namespace trawl
