#include "trawl/mapped_filter.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "filter/growing/layer_checks.h"
#include "filter/growing/layer_statistics.h"
#include "filter/mapped/mapped_bits.h"
#include "filter/mapped/mapped_blocks.h"
#include "filter/mapped/mapped_snapshot.h"

namespace trawl {

struct MappedFilter::State {
  MappedSnapshot snapshot;
  KeyedHash hash;
  // One of the two is there.
  std::vector<MappedBlocks> layers;  // oldest first; one unless the filter grows
  std::optional<MappedBits> flat;

  FilterStats stats_of_layers() const;
};

namespace {

Result<std::vector<MappedBlocks>> layers_of(const MappedSnapshot& snapshot) {
  const SnapshotHeader& header = snapshot.header();
  if (header.kind == FilterKind::kGrowing) {
    if (auto checked = check_layers(header, snapshot.path()); !checked)
      return tl::unexpected(checked.error());
  }
  std::vector<MappedBlocks> layers;
  for (std::size_t i = 0; i < header.sections.size(); ++i) {
    auto layer = MappedBlocks::of_section(snapshot, i);
    if (!layer) return tl::unexpected(layer.error());
    layers.push_back(*layer);
  }
  return layers;
}

}  // namespace

MappedFilter::MappedFilter(std::unique_ptr<State> state) : state_(std::move(state)) {}
MappedFilter::MappedFilter(MappedFilter&&) noexcept = default;
MappedFilter& MappedFilter::operator=(MappedFilter&&) noexcept = default;
MappedFilter::~MappedFilter() = default;

Result<MappedFilter> MappedFilter::open(const std::string& path) {
  auto snapshot = MappedSnapshot::open(path);
  if (!snapshot) return tl::unexpected(snapshot.error());
  const SnapshotHeader& header = snapshot->header();
  if (header.kind != FilterKind::kGrowing && header.sections.size() != 1)
    return damaged_snapshot(path, "its parameters are impossible");
  const KeyedHash hash = KeyedHash::from_key(header.hash_key);
  std::vector<MappedBlocks> layers;
  std::optional<MappedBits> flat;
  switch (header.kind) {
    case FilterKind::kBlocked:
    case FilterKind::kGrowing:
      if (auto all = layers_of(*snapshot))
        layers = std::move(*all);
      else
        return tl::unexpected(all.error());
      break;
    case FilterKind::kClassic:
      if (const auto bits = MappedBits::of_section(*snapshot, 0))
        flat = *bits;
      else
        return tl::unexpected(bits.error());
      break;
    case FilterKind::kCounting:
    case FilterKind::kCuckoo:
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} holds a {} filter, which cannot be asked without loading it",
                              path, name_of(header.kind)));
  }
  return MappedFilter(
      std::make_unique<State>(State{std::move(*snapshot), hash, std::move(layers), flat}));
}

bool MappedFilter::contains(Fingerprint key) const noexcept {
  bool found = false;
  contains_batch({&key, 1}, {&found, 1});
  return found;
}

std::size_t MappedFilter::contains_batch(std::span<const Fingerprint> keys,
                                         std::span<bool> found) const noexcept {
  assert(keys.size() == found.size());
  std::ranges::fill(found, false);
  if (state_->flat) state_->flat->find(keys, found);
  // The newest layer is the largest.
  for (std::size_t i = state_->layers.size(); i-- > 0;)
    state_->layers[i].find(keys, found);
  return static_cast<std::size_t>(std::ranges::count(found, true));
}

Result<void> MappedFilter::verify() const {
  return state_->snapshot.verify();
}

FilterKind MappedFilter::kind() const noexcept {
  return state_->snapshot.header().kind;
}

const KeyedHash& MappedFilter::hash() const noexcept {
  return state_->hash;
}

FilterStats MappedFilter::stats() const {
  return state_->flat ? state_->flat->stats() : state_->stats_of_layers();
}

// As GrowingBloomFilter counts; with one layer, as BlockedBloomFilter.
FilterStats MappedFilter::State::stats_of_layers() const {
  FilterStats all{.target_rate = snapshot.header().target_rate,
                  .layers = static_cast<unsigned>(layers.size())};
  for (const MappedBlocks& layer : layers)
    add_layer(all, layer.stats_without_fill(), layer.keys_in_previous());
  all.fill = layers.back().fill();
  return all;
}

}  // namespace trawl
