// The functions of trawl/sizing.h for the blocked filter.
#include "trawl/sizing.h"

#include "filter/blocked/block_layout.h"

namespace trawl {

double blocked_bloom_rate(double keys_per_block, unsigned hashes) {
  return BlockRate(hashes).at(keys_per_block);
}

Result<BloomSize> blocked_bloom_size(std::uint64_t keys, double rate) {
  const auto layout = choose_layout(keys, rate);
  if (!layout) return tl::unexpected(layout.error());
  const std::uint64_t bits = layout->blocks * kBitsPerBlock;
  const auto n = static_cast<double>(keys);
  return BloomSize{
      .bits = bits,
      .hashes = layout->hashes,
      .bits_per_key = static_cast<double>(bits) / n,
      .rate = blocked_bloom_rate(n / static_cast<double>(layout->blocks), layout->hashes)};
}

}  // namespace trawl
