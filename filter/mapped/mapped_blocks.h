// MappedBlocks: a blocked filter, or a layer of a growing one, in its mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "trawl/filter.h"

#include "filter/blocked/block_kernels.h"
#include "filter/blocked/block_layout.h"
#include "filter/mapped/mapped_snapshot.h"

namespace trawl {

class MappedBlocks {
 public:
  // Errors: kCorrupt if the parameters are not possible for a blocked filter.
  static Result<MappedBlocks> of_section(const MappedSnapshot& snapshot, std::size_t number);

  // Sets found[i] to true if keys[i] is present, and leaves it unchanged otherwise.
  void find(std::span<const Fingerprint> keys, std::span<bool> found) const noexcept;
  // Starts reading the keys' pages, without waiting.
  void ask_for(std::span<const Fingerprint> keys) const noexcept;
  // Reads pages: a sample of up to 2^12 blocks.
  FilterStats stats() const;
  // The number of its keys that are also counted in the previous layer.
  std::uint64_t keys_in_previous() const noexcept { return grows_ ? parameters_.detail : 0; }

 private:
  MappedBlocks(MappedSection section, const SnapshotSection& parameters, bool grows)
      : section_(section), parameters_(parameters), grows_(grows), shape_(parameters.hashes) {}

  const MappedSection::Word* block_of(Fingerprint key) const noexcept {
    return section_.find(place_of(key));
  }
  std::uint64_t place_of(Fingerprint key) const noexcept {
    return scale_to(key.high, blocks()) * kWordsPerBlock;
  }
  bool contains(Fingerprint key) const noexcept;
  std::uint64_t blocks() const noexcept { return section_.words() / kWordsPerBlock; }

  MappedSection section_;
  SnapshotSection parameters_;
  bool grows_;  // it is a layer of a growing filter
  MaskShape shape_;
  const BlockKernels* kernels_ = &best_block_kernels(shape_);
};

}  // namespace trawl
