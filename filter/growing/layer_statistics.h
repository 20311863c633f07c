// The statistics of a filter of several layers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "trawl/filter.h"

namespace trawl {

// Adds the next layer, whose own statistics are `layer`, to those of the older ones; `in_previous`
// of its keys are counted in the layer before as well. The fill is left alone. With one layer the
// sums are exactly its own.
inline void add_layer(FilterStats& sum, const FilterStats& layer, std::uint64_t in_previous) {
  const std::uint64_t admitted = layer.inserted - std::min(layer.inserted, in_previous);
  sum.capacity += layer.capacity;
  sum.inserted += admitted;
  sum.memory_bytes += layer.memory_bytes;
  sum.hashes = layer.hashes;
  // To admit a key at a rate g of all layers together takes 1 / (1 - g) new keys, g / (1 - g) of
  // them in vain. With the older layers' rate r, which is constant, and the newest one's f,
  // 1 - g = (1 - r)(1 - f), so that g / (1 - g) = (f / (1 - f) + r) / (1 - r); the sum of
  // f / (1 - f) over the keys is what the layer would lose alone (A3).
  const double older = sum.current_rate;
  sum.expected_false_positives +=
      (layer.expected_false_positives + older * static_cast<double>(admitted)) /
      std::max(1 - older, 1e-9);
  sum.current_rate = older + layer.current_rate * (1 - older);
}

}  // namespace trawl
