// Saving and loading growing filters: one section per layer.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "filter/growing/growing_bloom_filter_state.h"
#include "filter/growing/layer_checks.h"
#include "filter/snapshot/snapshot_reader.h"

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

Result<std::unique_ptr<GrowingBloomFilter::State>> GrowingBloomFilter::State::read(
    const std::string& path, std::uint64_t max_memory_bytes, std::vector<std::string>* damage) {
  const auto reader = SnapshotReader::open(path, kKind);
  if (!reader) return tl::unexpected(reader.error());
  const SnapshotHeader& header = reader->header();
  auto state = of_header(header, path, max_memory_bytes);
  if (!state) return state;
  auto read = reader->read_words(
      [&](std::size_t section, std::uint64_t first, std::span<const std::uint64_t> words) {
        (*state)->current().layers[section]->bits->words.store(first, words);
      });
  if (!read) return tl::unexpected(read.error());
  for (std::size_t i = 0; i < header.sections.size() && header.sections[i].file != 0; ++i) {
    read = (*state)->read_layer_file(header, i, path);
    if (read) continue;
    if (damage == nullptr) return tl::unexpected(read.error());
    damage->push_back(read.error().message);
    Bits& bits = *(*state)->current().layers[i]->bits;
    std::uint64_t set = 0;
    for (std::uint64_t word = 0; word < bits.words.size(); ++word)
      set += static_cast<std::uint64_t>(
          std::popcount(bits.words[word].load(std::memory_order_relaxed)));
    const double fill =
        static_cast<double>(set) / static_cast<double>(bits.words.size()) / kBitsPerWord;
    bits.inserted.reset(std::min(header.sections[i].inserted, bits.keys_with_fill(fill)));
  }
  return state;
}

Result<void> GrowingBloomFilter::State::read_layer_file(const SnapshotHeader& header,
                                                        std::size_t layer,
                                                        const std::string& path) {
  const auto reader = SnapshotReader::open_layer(header, layer, path);
  if (!reader) return tl::unexpected(reader.error());
  Bits& bits = *current().layers[layer]->bits;
  Result<void> whole = reader->read_intact_words(
      [&](std::size_t, std::uint64_t first, std::span<const std::uint64_t> words) {
        bits.words.store(first, words);
      });
  if (whole && loaded.size() == layer) {
    const SnapshotSection& section = header.sections[layer];
    loaded.push_back({.number = section.file, .identity = section.file_identity});
  }
  return whole;
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
