// The parts that decide whether a URL is new: claims, cache.
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "frontier/commit/exact_claims.h"
#include "frontier/commit/ledger_cache.h"

namespace trawl {
namespace {

Fingerprint key_of(std::uint64_t n) {
  return {.high = mix64(n), .low = mix64(~n)};
}

TEST(ExactClaims, A1_OneOfManyThreadsHasTheClaim) {
  constexpr std::uint64_t kKeys = 2000;
  ExactClaims claims;
  std::atomic<std::uint64_t> won{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t n = 0; n < kKeys; ++n)
        won += claims.claim(key_of(n)) ? 1 : 0;
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(won.load(), kKeys);
  EXPECT_FALSE(claims.claim(key_of(1)));
  claims.release(key_of(1));
  EXPECT_TRUE(claims.claim(key_of(1)));
}

TEST(LedgerCache, HoldsOnlyWhatWasAdded) {
  LedgerCache cache(64 * 1024);
  const std::uint64_t capacity = cache.memory() / sizeof(Fingerprint);
  for (std::uint64_t n = 0; n < 4 * capacity; ++n)
    cache.add(key_of(n));
  std::uint64_t kept = 0;
  for (std::uint64_t n = 0; n < 4 * capacity; ++n)
    kept += cache.contains(key_of(n)) ? 1 : 0;
  EXPECT_LE(kept, capacity);
  EXPECT_GT(kept, capacity / 2);
  for (std::uint64_t n = 4 * capacity; n < 8 * capacity; ++n)
    EXPECT_FALSE(cache.contains(key_of(n)));
}

TEST(LedgerCache, KeepsWhatIsAskedForAgainAndAgain) {
  LedgerCache cache(64 * 1024);
  cache.add(key_of(0));
  for (std::uint64_t n = 1; n < 100'000; ++n) {
    cache.add(key_of(n));
    ASSERT_TRUE(cache.contains(key_of(0))) << n;
  }
}

TEST(LedgerCache, WithoutMemoryItIsEmpty) {
  LedgerCache cache(1);
  cache.add(key_of(1));
  EXPECT_FALSE(cache.contains(key_of(1)));
  EXPECT_EQ(cache.memory(), 0u);
}

}  // namespace
}  // namespace trawl
