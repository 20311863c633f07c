#include "filter/blocked/block_kernels.h"

#include "filter/blocked/block_batch.h"
#include "filter/blocked/exactly_once_insert.h"

namespace trawl {

namespace {

struct PortableInsert {
  static bool answer(std::atomic<std::uint64_t>* block, std::uint64_t low,
                     MaskShape shape) noexcept {
    const BlockMasks masks = block_masks(low, shape);
    BlockWords words{block};
    unsigned missing = 0;
    for (unsigned w = 0; w < kWordsPerBlock; ++w)
      missing |= static_cast<unsigned>((masks[w] & ~words.load(w)) != 0) << w;
    return exactly_once_insert(words, masks, missing);
  }
};

struct PortableContains {
  static bool answer(std::atomic<std::uint64_t>* block, std::uint64_t low,
                     MaskShape shape) noexcept {
    const BlockMasks masks = block_masks(low, shape);
    const BlockWords words{block};
    std::uint64_t missing = 0;
    for (unsigned w = 0; w < kWordsPerBlock; ++w)
      missing |= masks[w] & ~words.load(w);
    return missing == 0;
  }
};

}  // namespace

const BlockKernels& portable_block_kernels() noexcept {
  static constexpr BlockKernels kKernels{
      .name = "portable",
      .insert_batch = for_each_key<PortableInsert, true>,
      .contains_batch = for_each_key<PortableContains, false>,
  };
  return kKernels;
}

const BlockKernels& best_block_kernels() noexcept {
  static const BlockKernels& best =
      avx2_block_kernels() != nullptr ? *avx2_block_kernels() : portable_block_kernels();
  return best;
}

}  // namespace trawl
