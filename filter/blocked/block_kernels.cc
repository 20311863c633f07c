#include "filter/blocked/block_kernels.h"

#include "filter/bits/exactly_once.h"
#include "filter/blocked/block_batch.h"
#include "filter/blocked/block_key.h"

namespace trawl {

namespace {

struct PortableInsert {
  using Shape = MaskShape;
  static bool answer(const BlockSpan& filter, Fingerprint key, MaskShape shape) noexcept {
    const BlockMasks masks = block_masks(key.low, shape);
    BlockKey inserted(LockedBlock(filter.block_of(key), filter.lock_of(key)), masks);
    return exactly_once_insert(inserted);
  }
};

struct PortableContains {
  using Shape = MaskShape;
  static bool find(std::atomic<std::uint64_t>* block, std::uint64_t low, MaskShape shape) noexcept {
    const BlockMasks masks = block_masks(low, shape);
    std::uint64_t missing = 0;
    for (unsigned w = 0; w < kWordsPerBlock; ++w) {
      // acquire: pairs with the release in LockedBlock::store().
      missing |= masks[w] & ~block[w].load(std::memory_order_acquire);
    }
    return missing == 0;
  }
  static bool answer(const BlockSpan& filter, Fingerprint key, MaskShape shape) noexcept {
    return find(filter.block_of(key), key.low, shape);
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
