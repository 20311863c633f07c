#include "trawl/mapped_filter.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "filter/growing/layer_checks.h"
#include "filter/growing/layer_statistics.h"
#include "filter/mapped/mapped_bits.h"
#include "filter/mapped/mapped_blocks.h"
#include "filter/mapped/mapped_buckets.h"
#include "filter/mapped/mapped_counters.h"
#include "filter/mapped/mapped_snapshot.h"
#include "filter/mapped/read_ahead.h"

namespace trawl {

namespace {

// A blocked filter, or the layers of a growing one.
class MappedLayers {
 public:
  static Result<MappedLayers> of_snapshot(const MappedSnapshot& snapshot);
  // Of the layers that have files of their own.
  Result<void> verify() const;
  void find(std::span<const Fingerprint> keys, std::span<bool> found) const noexcept;
  FilterStats stats() const;

 private:
  explicit MappedLayers(double target_rate) : target_rate_(target_rate) {}
  double target_rate_;
  std::vector<MappedSnapshot> files_;
  std::vector<MappedBlocks> layers_;  // oldest first; a blocked filter has one
  std::unique_ptr<ReadAhead> read_ahead_ = std::make_unique<ReadAhead>();
};

Result<MappedLayers> MappedLayers::of_snapshot(const MappedSnapshot& snapshot) {
  const SnapshotHeader& header = snapshot.header();
  if (header.kind == FilterKind::kGrowing) {
    if (auto checked = check_layers(header, snapshot.path()); !checked)
      return tl::unexpected(checked.error());
  }
  MappedLayers all(header.target_rate);
  for (std::size_t i = 0; i < header.sections.size(); ++i) {
    if (header.sections[i].file != 0) {
      auto file = snapshot.open_layer(i);
      if (!file) return tl::unexpected(file.error());
      all.files_.push_back(std::move(*file));
    }
    auto layer = header.sections[i].file != 0 ? MappedBlocks::of_section(all.files_.back(), 0)
                                              : MappedBlocks::of_section(snapshot, i);
    if (!layer) return tl::unexpected(layer.error());
    all.layers_.push_back(*layer);
  }
  return all;
}

Result<void> MappedLayers::verify() const {
  for (const MappedSnapshot& file : files_) {
    if (auto whole = file.verify(); !whole) return whole;
  }
  return {};
}

void MappedLayers::find(std::span<const Fingerprint> keys, std::span<bool> found) const noexcept {
  read_ahead_->time(keys.size(), [&](bool ahead) {
    for (const MappedBlocks& layer : layers_) {
      if (ahead) layer.ask_for(keys);
    }
    // The newest layer first: it is the largest.
    for (std::size_t i = layers_.size(); i-- > 0;)
      layers_[i].find(keys, found);
  });
}

// The same computation as in GrowingBloomFilter; with one layer, as in BlockedBloomFilter.
FilterStats MappedLayers::stats() const {
  FilterStats all{.target_rate = target_rate_, .layers = static_cast<unsigned>(layers_.size())};
  for (const MappedBlocks& layer : layers_) {
    const FilterStats one = layer.stats();
    add_layer(all, one, layer.keys_in_previous());
    all.fill = one.fill;
  }
  return all;
}

using MappedKind = std::variant<MappedLayers, MappedBits, MappedCounters, MappedBuckets>;

Result<MappedKind> kind_of(const MappedSnapshot& snapshot) {
  const auto as_kind = [](auto&& words) { return MappedKind(std::move(words)); };
  switch (snapshot.header().kind) {
    case FilterKind::kBlocked:
    case FilterKind::kGrowing:
      return MappedLayers::of_snapshot(snapshot).map(as_kind);
    case FilterKind::kClassic:
      return MappedBits::of_section(snapshot, 0).map(as_kind);
    case FilterKind::kCounting:
      return MappedCounters::of_section(snapshot, 0).map(as_kind);
    case FilterKind::kCuckoo:
      return MappedBuckets::of_section(snapshot, 0).map(as_kind);
  }
  return damaged_snapshot(snapshot.path(), "its parameters are impossible");
}

}  // namespace

struct MappedFilter::State {
  MappedSnapshot snapshot;
  KeyedHash hash;
  MappedKind words;
};

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
  auto words = kind_of(*snapshot);
  if (!words) return tl::unexpected(words.error());
  return MappedFilter(
      std::make_unique<State>(State{std::move(*snapshot), hash, std::move(*words)}));
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
  std::visit([&](const auto& words) { words.find(keys, found); }, state_->words);
  return static_cast<std::size_t>(std::ranges::count(found, true));
}

Result<void> MappedFilter::verify() const {
  return state_->snapshot.verify().and_then([&]() -> Result<void> {
    const auto* const layers = std::get_if<MappedLayers>(&state_->words);
    return layers == nullptr ? Result<void>{} : layers->verify();
  });
}

FilterKind MappedFilter::kind() const noexcept {
  return state_->snapshot.header().kind;
}

const KeyedHash& MappedFilter::hash() const noexcept {
  return state_->hash;
}

FilterStats MappedFilter::stats() const {
  return std::visit([](const auto& words) { return words.stats(); }, state_->words);
}

}  // namespace trawl
