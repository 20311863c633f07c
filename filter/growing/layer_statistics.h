// The statistics of a filter of several layers.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "trawl/filter.h"

namespace trawl {

// Adds the statistics `layer` of the next layer to those of the older ones; `in_previous` of its
// keys are also counted in the previous layer. Does not change the fill. With one layer the sums
// are exactly the layer's.
inline void add_layer(FilterStats& sum, const FilterStats& layer, std::uint64_t in_previous) {
  assert(sum.current_rate >= 0 && sum.current_rate <= 1);
  const std::uint64_t admitted = layer.inserted - std::min(layer.inserted, in_previous);
  sum.capacity += layer.capacity;
  sum.inserted += admitted;
  sum.memory_bytes += layer.memory_bytes;
  sum.hashes = layer.hashes;
  // At a combined rate g of all layers, admitting a key takes 1 / (1 - g) new keys, of which g / (1
  // - g) are lost. With the older layers' rate r, which is constant, and the newest one's f, 1 - g
  // = (1 - r)(1 - f), so that g / (1 - g) = (f / (1 - f) + r) / (1 - r); the sum of f / (1 - f)
  // over the keys is the loss of the layer alone (A3).
  const double older = sum.current_rate;
  sum.expected_false_positives +=
      (layer.expected_false_positives + older * static_cast<double>(admitted)) /
      std::max(1 - older, 1e-9);
  sum.current_rate = older + layer.current_rate * (1 - older);
}

}  // namespace trawl
