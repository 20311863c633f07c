#include "trawl/growing_bloom_filter.h"

#include <cassert>

#include "filter/growing/growing_bloom_filter_state.h"
#include "filter/snapshot/snapshot_reader.h"
#include "filter/snapshot/snapshot_writer.h"

namespace trawl {

GrowingBloomFilter::GrowingBloomFilter(std::unique_ptr<State> state) : state_(std::move(state)) {}
GrowingBloomFilter::GrowingBloomFilter(GrowingBloomFilter&&) noexcept = default;
GrowingBloomFilter& GrowingBloomFilter::operator=(GrowingBloomFilter&&) noexcept = default;
GrowingBloomFilter::~GrowingBloomFilter() = default;

Result<GrowingBloomFilter> GrowingBloomFilter::create(const Options& options) {
  auto state = State::create(options);
  if (!state) return tl::unexpected(state.error());
  return GrowingBloomFilter(std::move(*state));
}

Result<GrowingBloomFilter> GrowingBloomFilter::load(const std::string& path,
                                                    std::uint64_t max_memory_bytes) {
  auto state = State::read(path, max_memory_bytes, nullptr);
  if (!state) return tl::unexpected(state.error());
  return GrowingBloomFilter(std::move(*state));
}

Result<GrowingBloomFilter> GrowingBloomFilter::load_what_is_intact(
    const std::string& path, std::uint64_t max_memory_bytes, std::vector<std::string>& damage) {
  auto state = State::read(path, max_memory_bytes, &damage);
  if (!state) return tl::unexpected(state.error());
  return GrowingBloomFilter(std::move(*state));
}

template <class Write>
Result<std::uint64_t> GrowingBloomFilter::State::write(const std::string& path,
                                                       const Write& write_file,
                                                       std::span<const LayerFile> files) const {
  const Table& saved = current();
  SnapshotHeader header = header_of(saved);
  assert(files.size() < saved.layers.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    header.sections[i].file = files[i].number;
    header.sections[i].file_identity = files[i].identity;
  }
  // The header is written last, so that it counts the keys inserted while the words were copied: a
  // loaded filter must not be fuller than its count says. (Only keys being inserted at that moment
  // may be in the words but not counted.)
  return write_file(path, header,
                    [&](std::size_t i, std::uint64_t first, std::span<std::uint64_t> out) {
                      saved.layers[i]->bits->words.copy(first, out);
                      header.sections[i].inserted = saved.layers[i]->bits->inserted.sum();
                    });
}

Result<std::uint64_t> GrowingBloomFilter::save(const std::string& path) const {
  return state_->write(path, save_snapshot);
}

Result<std::uint64_t> GrowingBloomFilter::write_unpublished(
    const std::string& path, const SnapshotPace& pace, std::span<const LayerFile> layers) const {
  return state_->write(
      path,
      [&](const std::string& file, const SnapshotHeader& header, const CopyWords& copy) {
        return write_snapshot(file, header, copy, pace);
      },
      layers);
}

std::size_t GrowingBloomFilter::full_layers() const noexcept {
  return state_->current().layers.size() - 1;
}

Result<GrowingBloomFilter::LayerFile> GrowingBloomFilter::write_layer(
    std::size_t layer, std::uint64_t number, const std::string& path,
    const SnapshotPace& pace) const {
  assert(layer < full_layers() && number > 0);
  const State::Bits& bits = *state_->current().layers[layer]->bits;
  const SnapshotHeader header{.kind = FilterKind::kBlocked,
                              .hash_key = state_->hash.key(),
                              .capacity = bits.capacity,
                              .target_rate = bits.target_rate,
                              .sections = {bits.section()}};
  const auto written = write_snapshot(
      path, header,
      [&](std::size_t, std::uint64_t first, std::span<std::uint64_t> out) {
        bits.words.copy(first, out);
      },
      pace);
  if (!written) return tl::unexpected(written.error());
  return SnapshotReader::open(path, FilterKind::kBlocked).map([&](const SnapshotReader& reader) {
    return LayerFile{.number = number, .identity = reader.identity()};
  });
}

const std::vector<GrowingBloomFilter::LayerFile>& GrowingBloomFilter::loaded_layers()
    const noexcept {
  return state_->loaded;
}

bool GrowingBloomFilter::insert(Fingerprint key) noexcept {
  // Most keys of a crawl are not new, and a lookup needs no atomic write.
  if (contains(key)) return false;
  bool first = false;
  insert_batch({&key, 1}, {&first, 1});
  return first;
}

bool GrowingBloomFilter::contains(Fingerprint key) const noexcept {
  return state_->has(key);
}

std::size_t GrowingBloomFilter::insert_batch(std::span<const Fingerprint> keys,
                                             std::span<bool> admitted) noexcept {
  assert(keys.size() == admitted.size());
  std::size_t fresh = 0;
  for (std::size_t first = 0; first < keys.size();) {
    const auto progress = state_->insert_some(keys.subspan(first), admitted.data() + first);
    if (progress.done == 0) state_->make_room(*progress.newest);
    first += progress.done;
    fresh += progress.fresh;
  }
  return fresh;
}

std::size_t GrowingBloomFilter::contains_batch(std::span<const Fingerprint> keys,
                                               std::span<bool> found) const noexcept {
  assert(keys.size() == found.size());
  return state_->find(keys, found.data());
}

Result<std::uint64_t> GrowingBloomFilter::make_room(std::uint64_t max_memory_bytes) {
  return state_->room_of_newest(max_memory_bytes);
}

std::uint64_t GrowingBloomFilter::memory_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const auto* layer : state_->current().layers)
    bytes += layer->bits->words.bytes();
  return bytes;
}

FilterStats GrowingBloomFilter::stats() const {
  return state_->stats();
}

const KeyedHash& GrowingBloomFilter::hash() const noexcept {
  return state_->hash;
}

std::string GrowingBloomFilter::growth_error() const {
  const MutexLock lock(state_->error_lock);
  return state_->growth_error;
}

}  // namespace trawl
