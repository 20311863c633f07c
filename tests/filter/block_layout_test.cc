#include "filter/blocked/block_layout.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace trawl {
namespace {

double bits_per_stored_key(double rate) {
  constexpr std::uint64_t kKeys = 1'000'000;
  return static_cast<double>(choose_layout(kKeys, rate)->blocks) * kBitsPerBlock / kKeys;
}

TEST(BlockLayout, SizesAreThoseOfABlockedFilter) {
  // Measured for this layout with a prototype; the textbook's flat filter needs 9.59, 14.38, 19.17
  // and 28.76.
  EXPECT_NEAR(bits_per_stored_key(1e-2), 10.0, 0.2);
  EXPECT_NEAR(bits_per_stored_key(1e-3), 15.6, 0.3);
  EXPECT_NEAR(bits_per_stored_key(1e-4), 22.0, 0.4);
  EXPECT_NEAR(bits_per_stored_key(1e-6), 38.6, 0.8);
}

TEST(BlockLayout, TheChosenLayoutKeepsTheRateAndNoneSmallerByMoreThanOnePercentDoes) {
  for (const double rate : {0.3, 1e-1, 1e-2, 1e-4, 1e-6, 1e-9}) {
    constexpr std::uint64_t kKeys = 10'000'000;
    const auto layout = choose_layout(kKeys, rate);
    ASSERT_TRUE(layout) << rate;
    const auto blocks = static_cast<double>(layout->blocks);
    EXPECT_LE(BlockRate(layout->hashes).at(kKeys / blocks), rate * 1.0001);
    for (unsigned bits = 1; bits <= 40; ++bits) {
      EXPECT_GT(BlockRate(bits).at(kKeys / (blocks * 0.989)), rate) << bits;
    }
  }
}

// More rates than are kept.
TEST(BlockLayout, ARateThatIsAskedForAgainHasTheSameLayout) {
  std::vector<BlockLayout> first;
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < 300; ++i) {
      const auto layout = choose_layout(1000 + i, 1e-6 * (1 + static_cast<double>(i))).value();
      if (round == 0) first.push_back(layout);
      EXPECT_EQ(layout.hashes, first[i].hashes);
      EXPECT_EQ(layout.blocks, first[i].blocks);
      EXPECT_EQ(layout.keys_per_block, first[i].keys_per_block);
    }
  }
}

TEST(BlockLayout, RateRisesFromZeroToOneAndLossesAddUp) {
  const BlockRate rate(8);
  EXPECT_EQ(rate.at(0), 0);
  double before = 0;
  double lost = 0;
  constexpr double kStep = 1.0 / 64;
  for (double load = 0; load < 200; load += kStep) {
    const double now = rate.at(load + kStep / 2);
    EXPECT_GE(now, before);
    before = now;
    lost += now * kStep;
    if (std::fmod(load + kStep, 20) > 0) continue;
    SCOPED_TRACE(load);
    const auto after = rate.after_admitting(load + kStep - lost);
    EXPECT_NEAR(after.lost, lost, lost * 1e-2);
    EXPECT_NEAR(after.rate, rate.at(load + kStep), 2e-3);
  }
  EXPECT_NEAR(rate.at(100'000), 1, 1e-6);
}

TEST(BlockLayout, MoreKeysThanCanEverBeAdmittedAreNoEndlessLoop) {
  for (const double keys : {1e3, 1e6, 1e18, 1e300}) {
    const auto after = BlockRate(11).after_admitting(keys);
    EXPECT_GT(after.rate, 0.999);
    EXPECT_TRUE(std::isfinite(after.lost));
  }
}

TEST(BlockLayout, AbsurdOptionsAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double rate : {0.0, 1.0, -0.5, 2.0, 1e-20, nan}) {
    const auto layout = choose_layout(1000, rate);
    ASSERT_FALSE(layout) << rate;
    EXPECT_EQ(layout.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(choose_layout(0, 0.01).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(choose_layout(std::numeric_limits<std::uint64_t>::max(), 1e-9).error().code,
            ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace trawl
