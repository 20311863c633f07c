#include "filter/blocked/block_kernels.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "filter/bits/word_array.h"

namespace trawl {
namespace {

Fingerprint key_of_number(std::uint64_t n) {
  return {.high = mix64(2 * n), .low = mix64(2 * n + 1)};
}

TEST(BlockMasks, EveryWordGetsItsShareOfTheBits) {
  for (unsigned hashes = 1; hashes <= kMaxHashes; ++hashes) {
    SCOPED_TRACE(hashes);
    const MaskShape shape(hashes);
    for (std::uint64_t n = 0; n < 200; ++n) {
      const std::uint64_t low = mix64(n);
      const BlockMasks masks = block_masks(low, shape);
      const auto r = static_cast<unsigned>(low >> 61);
      for (unsigned w = 0; w < kWordsPerBlock; ++w) {
        // Bit i of the key lies in word (r + i) mod 8, so that so many of them lie in word w. Two
        // of them may be the same.
        const unsigned place = (w + kWordsPerBlock - r) % kWordsPerBlock;
        const unsigned most = shape.rounds + (place < shape.extra ? 1 : 0);
        const auto set = static_cast<unsigned>(std::popcount(masks[w]));
        ASSERT_LE(set, most);
        ASSERT_GE(set, std::min(most, 1u));
      }
    }
  }
}

TEST(BlockMasks, BitsAreSpreadEvenly) {
  constexpr unsigned kKeys = 64'000;
  const MaskShape shape(12);
  std::vector<unsigned> counts(kBitsPerBlock);
  for (std::uint64_t n = 0; n < kKeys; ++n) {
    const BlockMasks masks = block_masks(key_of_number(n).low, shape);
    for (unsigned bit = 0; bit < kBitsPerBlock; ++bit)
      counts[bit] += masks[bit / kBitsPerWord] >> (bit % kBitsPerWord) & 1;
  }
  // 12 bits over 512 places: 1,500 each less some that coincide; 5 standard deviations are 200.
  const auto [least, most] = std::ranges::minmax(counts);
  EXPECT_GT(least, 1250u);
  EXPECT_LT(most, 1720u);
}

struct Filled {
  WordArray words;
  std::vector<bool> admitted;
  std::vector<bool> found;
};

Filled fill_blocks(const BlockKernels& kernels, unsigned hashes, bool in_batches) {
  constexpr std::uint64_t kBlocks = 100;
  constexpr std::size_t kKeys = 3'000;
  Filled filled{.words = WordArray::allocate(kBlocks * kWordsPerBlock, "the test").value(),
                .admitted = {},
                .found = {}};
  const StripeLocks locks(kBlocks);
  const BlockSpan span{filled.words.data(), kBlocks, MaskShape(hashes), locks.view()};
  std::vector<Fingerprint> keys(kKeys);
  for (std::size_t i = 0; i < kKeys; ++i)
    keys[i] = key_of_number(i % 2'500);  // some twice
  const auto answers = std::make_unique<bool[]>(kKeys);
  if (in_batches) {
    kernels.insert_batch(span, keys, answers.get());
  } else {
    for (std::size_t i = 0; i < kKeys; ++i)
      answers[i] = kernels.insert(span, keys[i]);
  }
  filled.admitted.assign(answers.get(), answers.get() + kKeys);
  for (std::size_t i = 0; i < kKeys; ++i)
    keys[i] = key_of_number(i * 7);
  if (in_batches) {
    kernels.contains_batch(span, keys, answers.get());
  } else {
    for (std::size_t i = 0; i < kKeys; ++i)
      answers[i] = kernels.contains(span.block_of(keys[i]), keys[i].low, span.shape);
  }
  filled.found.assign(answers.get(), answers.get() + kKeys);
  return filled;
}

void expect_same(const Filled& a, const Filled& b) {
  EXPECT_EQ(a.admitted, b.admitted);
  EXPECT_EQ(a.found, b.found);
  for (std::uint64_t i = 0; i < a.words.size(); ++i)
    ASSERT_EQ(a.words[i].load(), b.words[i].load()) << "word " << i;
}

TEST(BlockKernels, AllSetTheSameBitsAndGiveTheSameAnswers) {
  for (unsigned hashes = 1; hashes <= kMaxHashes; ++hashes) {
    SCOPED_TRACE(hashes);
    const Filled portable = fill_blocks(portable_block_kernels(), hashes, false);
    EXPECT_GT(std::ranges::count(portable.admitted, true), 100);
    expect_same(portable, fill_blocks(portable_block_kernels(), hashes, true));
    if (const BlockKernels* avx2 = avx2_block_kernels(MaskShape(hashes))) {
      expect_same(portable, fill_blocks(*avx2, hashes, false));
      expect_same(portable, fill_blocks(*avx2, hashes, true));
    }
  }
}

TEST(BlockKernels, TheBestAreThoseOfTheMachine) {
  const MaskShape shape(11);
  const BlockKernels* const avx2 = avx2_block_kernels(shape);
  EXPECT_EQ(&best_block_kernels(shape), avx2 != nullptr ? avx2 : &portable_block_kernels());
}

}  // namespace
}  // namespace trawl
