// The bits of a key in its block.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>

#include "base/mix.h"
#include "filter/blocked/block_layout.h"

namespace trawl {

// A key's bits, word by word.
struct alignas(64) BlockMasks {
  std::array<std::uint64_t, kWordsPerBlock> words;

  std::uint64_t operator[](unsigned w) const noexcept { return words[w]; }
  std::uint64_t& operator[](unsigned w) noexcept { return words[w]; }
  friend auto operator<=>(const BlockMasks&, const BlockMasks&) = default;
};

// k bits a key, distributed over the words in rounds: a full round gives each word one bit; the
// last round gives one bit to `extra` words, cyclically from the r-th on.
struct MaskShape {
  unsigned rounds;
  unsigned extra;
  explicit constexpr MaskShape(unsigned hashes)
      : rounds(hashes / kWordsPerBlock), extra(hashes % kWordsPerBlock) {
    assert(hashes <= kMaxHashes);
  }
  constexpr bool has_extra() const noexcept { return extra > 0; }
};
inline constexpr unsigned kMaxRounds = kMaxHashes / kWordsPerBlock;

// The hash that places the bits of a round: its 6 bits from bit 6w on choose the bit of word w. (r,
// the three bits from bit 61 on of the first round, overlaps with none of them.)
constexpr std::uint64_t round_hash(std::uint64_t low, unsigned round) noexcept {
  return round == 0 ? low : mix64(low + round);
}
inline constexpr unsigned kBitsPerPlace = 6;
inline constexpr std::uint64_t kPlaceMask = kBitsPerWord - 1;
inline constexpr unsigned kRotationShift = 61;

// Row e, read from position (8 - r) mod 8 on: for each word 1 if a last round of e bits gives it a
// bit.
inline constexpr auto kLastRound = [] {
  std::array<std::array<std::uint64_t, 2 * kWordsPerBlock>, kWordsPerBlock> rows{};
  for (unsigned extra = 0; extra < kWordsPerBlock; ++extra) {
    for (unsigned i = 0; i < 2 * kWordsPerBlock; ++i)
      rows[extra][i] = i % kWordsPerBlock < extra ? 1 : 0;
  }
  return rows;
}();

inline const std::uint64_t* last_round(std::uint64_t low, unsigned extra) noexcept {
  assert(extra < kWordsPerBlock);
  const auto r = static_cast<unsigned>(low >> kRotationShift);
  return kLastRound[extra].data() + (kWordsPerBlock - r) % kWordsPerBlock;
}

inline BlockMasks block_masks(std::uint64_t low, MaskShape shape) noexcept {
  BlockMasks masks{};
  for (unsigned round = 0; round < shape.rounds; ++round) {
    const std::uint64_t hash = round_hash(low, round);
    for (unsigned w = 0; w < kWordsPerBlock; ++w)
      masks[w] |= std::uint64_t{1} << (hash >> (kBitsPerPlace * w) & kPlaceMask);
  }
  if (shape.extra > 0) {
    const std::uint64_t hash = round_hash(low, shape.rounds);
    const std::uint64_t* const one_if_chosen = last_round(low, shape.extra);
    for (unsigned w = 0; w < kWordsPerBlock; ++w)
      masks[w] |= one_if_chosen[w] << (hash >> (kBitsPerPlace * w) & kPlaceMask);
  }
  return masks;
}

}  // namespace trawl
