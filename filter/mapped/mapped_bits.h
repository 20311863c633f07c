// MappedBits: a classic filter in its mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "trawl/filter.h"

#include "filter/classic/classic_places.h"
#include "filter/mapped/mapped_snapshot.h"

namespace trawl {

class MappedBits {
 public:
  // Errors: kCorrupt if the parameters are not possible for a classic filter.
  static Result<MappedBits> of_section(const MappedSnapshot& snapshot, std::size_t number);

  // Sets found[i] to true if keys[i] is present, and leaves it unchanged otherwise.
  void find(std::span<const Fingerprint> keys, std::span<bool> found) const noexcept;
  FilterStats stats() const;

 private:
  MappedBits(MappedSection section, const SnapshotSection& parameters)
      : section_(section), parameters_(parameters) {}
  bool contains(Fingerprint key) const noexcept;
  void prefetch(Fingerprint key) const noexcept;
  ClassicPlaces places_of(Fingerprint key) const noexcept;
  double fill() const noexcept;

  MappedSection section_;
  SnapshotSection parameters_;
};

}  // namespace trawl
