// Saving and loading growing filters: one section per layer.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "filter/growing/growing_bloom_filter_state.h"
#include "filter/growing/layer_checks.h"

namespace trawl {

namespace {

// Empty if the section can be a layer of such a filter; otherwise the name of the wrong parameter.
// `left` is the part of the rate that the layers before it leave.
std::string_view impossible_layer(const SnapshotHeader& header, std::size_t index, double left) {
  constexpr double kRounding = 1e-9;
  // No layout holds more keys: see choose_layout().
  constexpr std::uint64_t kMaxKeysPerWord = 4 * kBitsPerWord;
  const SnapshotSection& section = header.sections[index];
  if (section.capacity > kMostKeysOfALayer) return "capacity";
  if (index == 0 ? section.capacity != header.capacity
                 : section.capacity < header.sections[index - 1].capacity)
    return "capacity";
  if (section.capacity / kMaxKeysPerWord > section.words) return "size";
  const double rate = section.target_rate;
  const double most = index == 0 ? first_layer_rate(header.target_rate) : left;
  if (!(rate <= most * (1 + kRounding))) return "false-positive rate";
  if (index == 0 && !(rate >= most * (1 - kRounding))) return "false-positive rate";
  // Every new key sets a bit.
  if (section.inserted / kBitsPerWord > section.words) return "number of keys";
  if (section.detail > (index == 0 ? 0 : section.inserted)) return "number of keys";
  return {};
}

}  // namespace

Result<void> check_layers(const SnapshotHeader& header, const std::string& path) {
  double left = header.target_rate;
  for (std::size_t i = 0; i < header.sections.size(); ++i) {
    if (const auto what = impossible_layer(header, i, left); !what.empty())
      return damaged_snapshot(path, fmt::format("the {} of layer {} is impossible", what, i + 1));
    left -= header.sections[i].target_rate;
  }
  return {};
}

Result<std::unique_ptr<GrowingBloomFilter::State>> GrowingBloomFilter::State::of_header(
    const SnapshotHeader& header, const std::string& path, std::uint64_t max_memory_bytes) {
  if (auto checked = check_layers(header, path); !checked) return tl::unexpected(checked.error());
  auto state = std::make_unique<State>(header.capacity, header.target_rate,
                                       KeyedHash::from_key(header.hash_key), max_memory_bytes);
  for (std::size_t i = 0; i < header.sections.size(); ++i) {
    auto bits = Bits::of_section(header, i, path);
    if (!bits) return tl::unexpected(bits.error());
    auto layer = std::make_unique<Layer>(std::move(*bits));
    layer->also_in_previous = header.sections[i].detail;
    const MutexLock lock(state->growing);
    state->layers.push_back(std::move(layer));
  }
  state->open();
  return state;
}

SnapshotSection GrowingBloomFilter::State::section_of(const Layer& layer) {
  SnapshotSection section = layer.bits->section();
  section.detail = layer.also_in_previous;
  return section;
}

SnapshotHeader GrowingBloomFilter::State::header_of(const Table& saved) const {
  SnapshotHeader header{.kind = kKind,
                        .hash_key = hash.key(),
                        .capacity = capacity,
                        .target_rate = budget,
                        .sections = {}};
  for (const Layer* layer : saved.layers)
    header.sections.push_back(section_of(*layer));
  return header;
}

}  // namespace trawl
