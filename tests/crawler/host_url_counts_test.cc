#include "crawler/decide/host_url_counts.h"

#include <cstdint>
#include <limits>
#include <unordered_map>

#include <gtest/gtest.h>

#include "base/mix.h"

namespace trawl {
namespace {

TEST(HostUrlCountsTest, CountsAsAMapDoesWhileThereIsRoom) {
  TableCharge charge(nullptr);
  HostUrlCounts counts(1 << 20, charge);
  std::unordered_map<std::uint64_t, std::uint64_t> expected;
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    const std::uint64_t host = mix64(i % 5) % 3 == 0 ? 100 + i % 7 : mix64(i * i % 60'013);
    if (i % 4 == 3) {
      counts.decrement(host);
      if (auto& count = expected[host]; count > 0) --count;
    } else {
      counts.increment(host);
      ++expected[host];
    }
  }
  for (const auto& [host, count] : expected)
    ASSERT_EQ(counts.of(host), count) << host;
  EXPECT_EQ(counts.of(mix64(70'000)), 0u);
}

TEST(HostUrlCountsTest, TakesItsBytesAtMostAndForgetsTheSmallest) {
  constexpr std::uint64_t kBytes = 12 * 8000;
  TableCharge charge(nullptr);
  {
    HostUrlCounts counts(kBytes, charge);
    for (std::uint64_t host = 1; host <= 1000; ++host)
      counts.set(host, 50 + host);
    for (std::uint64_t i = 0; i < 100'000; ++i) {
      counts.increment(1'000'000 + i);
      ASSERT_LE(charge.bytes(), kBytes);
    }
    for (std::uint64_t host = 1; host <= 1000; ++host)
      ASSERT_EQ(counts.of(host), 50 + host) << "a host with many URLs was forgotten";
    EXPECT_EQ(counts.of(1'000'000), 0u);
    EXPECT_EQ(counts.of(1'099'999), 1u);
    EXPECT_LE(counts.hosts(), 7000u);
  }
  EXPECT_EQ(charge.bytes(), 0u);
}

TEST(HostUrlCountsTest, EqualNumbersAreForgottenTogether) {
  TableCharge charge(nullptr);
  HostUrlCounts counts(12 * 800, charge);
  for (std::uint64_t host = 1; host <= 700; ++host)
    counts.set(host, 9);
  EXPECT_EQ(counts.hosts(), 700u);
  counts.increment(701);
  EXPECT_EQ(counts.hosts(), 1u);
  EXPECT_EQ(counts.of(701), 1u);
}

TEST(HostUrlCountsTest, AHostThatWasForgottenIsNotCountedDown) {
  TableCharge charge(nullptr);
  HostUrlCounts counts(0, charge);  // the least there may be
  counts.increment(1);
  for (std::uint64_t host = 2; host < 40; ++host)
    counts.set(host, 5);
  counts.decrement(1);
  EXPECT_EQ(counts.of(1), 0u);
}

TEST(HostUrlCountsTest, NumbersEndAtFourBillion) {
  TableCharge charge(nullptr);
  HostUrlCounts counts(1 << 10, charge);
  counts.set(0, std::numeric_limits<std::uint64_t>::max());
  counts.increment(0);
  EXPECT_EQ(counts.of(0), std::numeric_limits<std::uint32_t>::max());
}

}  // namespace
}  // namespace trawl
