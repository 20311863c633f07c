#include "trawl/sizing.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace trawl {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;
constexpr std::uint64_t kBillion = 1'000 * kMillion;

double megabits(const BloomSize& size) {
  return static_cast<double>(size.bits) / 1e6;
}

// The figures that the literature on crawlers quotes.
TEST(Sizing, OneMillionKeysAtOnePercent) {
  const auto size = classic_bloom_size(kMillion, 0.01).value();
  EXPECT_NEAR(megabits(size), 9.585, 0.005);
  EXPECT_EQ(size.hashes, 7u);
  EXPECT_NEAR(static_cast<double>(size.bits) / 8, 1.2e6, 0.01e6);
}

TEST(Sizing, OneMillionKeysAtOnePerMille) {
  const auto size = classic_bloom_size(kMillion, 0.001).value();
  EXPECT_NEAR(megabits(size), 14.375, 0.006);
  EXPECT_EQ(size.hashes, 10u);
}

TEST(Sizing, TenMillionKeys) {
  EXPECT_NEAR(megabits(classic_bloom_size(10 * kMillion, 0.01).value()), 95.85, 0.005);
  EXPECT_NEAR(megabits(classic_bloom_size(10 * kMillion, 0.001).value()), 144, 0.5);
}

TEST(Sizing, AHundredMillionKeysAtOnePercent) {
  const auto size = classic_bloom_size(100 * kMillion, 0.01).value();
  EXPECT_NEAR(megabits(size), 960, 2);
  EXPECT_EQ(size.hashes, 7u);
}

TEST(Sizing, TenBillionUrlsAtOneInTenThousand) {
  const std::uint64_t keys = 10 * kBillion;
  EXPECT_NEAR(bloom_bits(static_cast<double>(keys), 1e-4) / static_cast<double>(keys), 19.17,
              0.005);
  EXPECT_NEAR(classic_bloom_size(keys, 1e-4)->bits_per_key, 19.17, 0.005);
  const auto rounded = classic_bloom_size_in_whole_bits(keys, 1e-4).value();
  EXPECT_EQ(rounded.bits_per_key, 20);
  EXPECT_EQ(rounded.bits, 200 * kBillion);
  EXPECT_EQ(rounded.bits / 8, 25 * kBillion);
  EXPECT_NEAR(bloom_hashes(20), 13.86, 0.005);
  EXPECT_EQ(rounded.hashes, 14u);
  EXPECT_GE(rounded.rate, 0.006e-2);
  EXPECT_LT(rounded.rate, 0.007e-2);
}

TEST(Sizing, ABillionKeysAtOneInTenThousand) {
  const double bytes = static_cast<double>(classic_bloom_size(kBillion, 1e-4)->bits) / 8;
  EXPECT_GE(std::ldexp(bytes, -30), 2.2);
  EXPECT_LE(std::ldexp(bytes, -30), 2.3);
}

TEST(Sizing, BitsPerKeyOfBothLayouts) {
  const struct {
    double rate, classic, blocked;
  } rows[] = {{1e-2, 9.59, 10.0}, {1e-3, 14.38, 15.7}, {1e-4, 19.17, 22.2}, {1e-6, 28.76, 39.1}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.rate);
    EXPECT_NEAR(classic_bloom_size(kMillion, row.rate)->bits_per_key, row.classic, 0.006);
    const auto blocked = blocked_bloom_size(kMillion, row.rate).value();
    EXPECT_NEAR(blocked.bits_per_key, row.blocked, 0.06);
    EXPECT_LE(blocked.rate, row.rate * 1.0001);
    EXPECT_GT(blocked.rate, row.rate * 0.97);
    EXPECT_EQ(blocked.bits % 512, 0u);
    EXPECT_NEAR(blocked_bloom_rate(512 / blocked.bits_per_key, blocked.hashes), blocked.rate,
                row.rate * 1e-6);
  }
}

TEST(Sizing, FormulasAgreeWithEachOther) {
  for (const double rate : {0.3, 1e-1, 1e-2, 1e-4, 1e-9, 1e-15}) {
    SCOPED_TRACE(rate);
    const double bits = bloom_bits(1000, rate);
    EXPECT_NEAR(bloom_rate(1000, bits, bloom_hashes(bits / 1000)), rate, rate * 1e-9);
  }
  EXPECT_EQ(bloom_rate(0, 1000, 7), 0);
  EXPECT_EQ(bloom_rate(1e9, 1000, 7), 1);
  // Nearly empty: (kn/m)^k.
  EXPECT_NEAR(bloom_rate(1, 1e12, 2) / 4e-24, 1, 1e-6);
}

TEST(Sizing, TheChosenHashesGiveTheLowestRateAndTheRateIsTheOneAskedFor) {
  for (const double rate :
       {0.999, 0.9, 0.6, 0.5, 0.36, 0.2, 0.05, 1e-2, 1e-3, 1e-6, 1e-12, 1e-15}) {
    SCOPED_TRACE(rate);
    const auto size = classic_bloom_size(kMillion, rate).value();
    EXPECT_LE(size.rate, rate * 1.04);
    EXPECT_GE(size.rate, rate * 0.96);
    EXPECT_EQ(size.rate, bloom_rate(kMillion, static_cast<double>(size.bits), size.hashes));
    for (unsigned hashes = 1; hashes <= 64; ++hashes)
      EXPECT_LE(size.rate, bloom_rate(kMillion, static_cast<double>(size.bits), hashes)) << hashes;
    EXPECT_LE(classic_bloom_size_in_whole_bits(kMillion, rate)->rate, rate * 1.04);
  }
}

TEST(Sizing, TheSmallestFilters) {
  const auto one = classic_bloom_size(1, 0.01).value();
  EXPECT_EQ(one.bits, 10u);
  EXPECT_EQ(one.hashes, 7u);
  EXPECT_EQ(classic_bloom_size(1, 0.999)->bits, 1u);
  EXPECT_EQ(blocked_bloom_size(1, 0.01)->bits, 512u);
}

TEST(Sizing, BadInputIsRefusedWithTheReason) {
  const auto expect_refused = [](const Result<BloomSize>& size, const char* reason) {
    ASSERT_FALSE(size);
    EXPECT_EQ(size.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(size.error().message.find(reason), std::string::npos) << size.error().message;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto size_of :
       {classic_bloom_size, classic_bloom_size_in_whole_bits, blocked_bloom_size}) {
    expect_refused(size_of(0, 0.01), "capacity");
    for (const double rate : {0.0, 1.0, -0.5, 2.0, 9e-16, nan, infinity, -infinity}) {
      SCOPED_TRACE(rate);
      expect_refused(size_of(1000, rate), "rate");
    }
    expect_refused(size_of(std::numeric_limits<std::uint64_t>::max(), 1e-9), "bytes");
  }
}

}  // namespace
}  // namespace trawl
