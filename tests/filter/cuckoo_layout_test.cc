#include "filter/cuckoo/cuckoo_layout.h"

#include <algorithm>
#include <cstdint>

#include <gtest/gtest.h>

#include "base/mix.h"
#include "filter/cuckoo/bucket_bits.h"

namespace trawl {
namespace {

TEST(CuckooLayout, TheAlternateOfTheAlternateIsTheBucketItself) {
  for (const std::uint64_t groups : {1u, 2u, 3u, 17u, 1000u}) {
    for (const unsigned bits : {kMinTagBits, 13u, kMaxTagBits}) {
      const CuckooLayout layout{.groups = groups, .tag_bits = bits};
      for (std::uint64_t i = 0; i < 1'000; ++i) {
        const auto places = layout.places({.high = mix64(2 * i), .low = mix64(2 * i + 1)});
        ASSERT_NE(places.tag, 0u);
        ASSERT_LE(places.tag, layout.tags());
        ASSERT_LT(places.bucket[0], layout.buckets());
        ASSERT_LT(places.bucket[1], layout.buckets());
        ASSERT_EQ(layout.alternate(places.bucket[1], places.tag), places.bucket[0]);
      }
    }
  }
}

TEST(CuckooLayout, TagsAreAsNarrowAsTheRateAllowsAndTheTableAsSmall) {
  for (const double rate : {1e-2, 1e-3, 1e-4, 1e-6, 1e-8}) {
    SCOPED_TRACE(rate);
    const auto layout = choose_cuckoo_layout(10'000'000, rate).value();
    EXPECT_LE(layout.rate_with(10'000'000), rate);
    EXPECT_GT(layout.rate_with(10'000'000), rate / 2.01);  // a bit less would not do
    const double bits_per_key = static_cast<double>(layout.words()) * 64 / 10'000'000;
    EXPECT_NEAR(bits_per_key, layout.tag_bits / 0.95, 0.01);
  }
}

TEST(BucketBits, FindsTagsOfEveryWidthInEverySlot) {
  for (unsigned width = kMinTagBits; width <= kMaxTagBits; ++width) {
    SCOPED_TRACE(width);
    const TagLanes lanes(width);
    const std::uint64_t most = (std::uint64_t{1} << width) - 1;
    const std::uint32_t interesting[] = {0, 1, 2, static_cast<std::uint32_t>(most),
                                         static_cast<std::uint32_t>(most / 2 + 1)};
    const Uint128 above = width == 32 ? 0 : ~Uint128{0} << (4 * width);  // of another bucket
    for (const auto a : interesting) {
      for (const auto b : interesting) {
        for (const auto c : interesting) {
          for (const auto d : interesting) {
            const std::uint32_t tags[] = {a, b, c, d};
            Uint128 bits = above;
            for (unsigned slot = 0; slot < 4; ++slot)
              bits |= Uint128{tags[slot]} << (slot * width);
            const BucketBits bucket(lanes, bits);
            for (const auto tag : interesting) {
              const auto expected = static_cast<unsigned>(std::find(tags, tags + 4, tag) - tags);
              ASSERT_EQ(bucket.slot_of(tag), expected);
              ASSERT_EQ(bucket.has(tag), expected != BucketBits::kNoSlot);
            }
            for (unsigned slot = 0; slot < 4; ++slot)
              ASSERT_EQ(bucket.tag(slot), tags[slot]);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace trawl
