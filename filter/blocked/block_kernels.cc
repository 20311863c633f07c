#include "filter/blocked/block_kernels.h"

#include "filter/blocked/block_batch.h"
#include "filter/blocked/exactly_once_insert.h"

namespace trawl {

namespace {

struct PortableInsert {
  using Shape = MaskShape;
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
  using Shape = MaskShape;
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
  static constexpr BlockKernels kKernels =
      block_kernels<PortableInsert, PortableContains>("portable");
  return kKernels;
}

const BlockKernels& best_block_kernels(MaskShape shape) noexcept {
  const BlockKernels* const avx2 = avx2_block_kernels(shape);
  return avx2 != nullptr ? *avx2 : portable_block_kernels();
}

}  // namespace trawl
