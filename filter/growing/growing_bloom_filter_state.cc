#include "filter/growing/growing_bloom_filter_state.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <new>
#include <numbers>

#include <fmt/format.h>

#include "filter/blocked/block_sample.h"
#include "filter/growing/layer_statistics.h"
#include "filter/growing/layer_switch.h"

namespace trawl {

double first_layer_rate(double budget) {
  return budget * 6 / (std::numbers::pi * std::numbers::pi);
}

// A3: however many layers there are, their rates sum to no more than the budget, as each takes a
// part of what is left. So the layers 2 to 7 have the same rate, and those after them 1 / (1 * 2),
// 1 / (2 * 3), ... of what these leave.
double next_layer_rate(double left, std::size_t layers) {
  assert(layers > 0);
  constexpr std::size_t kSame = 8;
  const std::size_t part = layers < kSame - 1 ? kSame - layers : layers - (kSame - 3);
  return left / static_cast<double>(part);
}

Result<BlockLayout> growing_layer_layout(std::uint64_t planned, double rate) {
  return choose_layout(planned + planned / kSpareShare, rate);
}

Result<std::unique_ptr<GrowingBloomFilter::State>> GrowingBloomFilter::State::create(
    const Options& options) {
  const double rate = options.false_positive_rate;
  if (!(rate > 0 && rate < 1)) {
    return error(
        ErrorCode::kInvalidArgument,
        fmt::format("a filter's false-positive rate must be above 0 and below 1, not {}", rate));
  }
  auto state = std::make_unique<State>(options.capacity, rate,
                                       options.hash ? *options.hash : KeyedHash::random(),
                                       options.max_memory_bytes);
  {
    const MutexLock lock(state->growing);
    auto layer = state->make_layer(state->capacity);
    if (!layer) return tl::unexpected(layer.error());
    state->layers.push_back(std::move(*layer));
  }
  state->open();
  return state;
}

Result<std::unique_ptr<GrowingBloomFilter::State::Layer>> GrowingBloomFilter::State::make_layer(
    std::uint64_t planned) const {
  const std::size_t index = layers.size();
  const std::string name =
      index == 0 ? std::string("the filter") : fmt::format("layer {} of the filter", index + 1);
  if (index >= kMaxSnapshotSections || planned > kMostKeysOfALayer) {
    return error(
        ErrorCode::kInvalidArgument,
        fmt::format(
            "{} would need room for {} keys, which is too large: begin with a lower capacity", name,
            planned));
  }
  const double rate = rate_of_next();
  const auto layout = growing_layer_layout(planned, rate);
  if (!layout) {
    return error(layout.error().code,
                 fmt::format("{} would need a rate of {:.3g}, its share of {}: {}", name, rate,
                             budget, layout.error().message));
  }
  const std::uint64_t words = layout->blocks * kWordsPerBlock;
  std::uint64_t bytes = words * sizeof(std::uint64_t);
  for (const auto& layer : layers)
    bytes += layer->bits->words.bytes();
  if (max_memory_bytes != 0 && bytes > max_memory_bytes) {
    return error(
        ErrorCode::kNoSpace,
        fmt::format("{}the filter would need {} bytes of memory, and {} are allowed: allow "
                    "more, or a higher false-positive rate",
                    index == 0 ? "" : fmt::format("with {} ", name), bytes, max_memory_bytes));
  }
  auto array = WordArray::allocate(words, name);
  if (!array) return tl::unexpected(array.error());
  return std::make_unique<Layer>(
      std::make_unique<Bits>(std::move(*array), layout->hashes, planned, rate, hash));
}

std::unique_ptr<const GrowingBloomFilter::State::Table> GrowingBloomFilter::State::table_of_layers(
    Layer* added) const {
  auto all = std::make_unique<Table>();
  for (const auto& layer : layers)
    all->layers.push_back(layer.get());
  if (added != nullptr) all->layers.push_back(added);
  return all;
}

void GrowingBloomFilter::State::publish(std::unique_ptr<const Table> next) {
  // Layers only come, so that a key that was found stays found (A2).
  assert(!next->layers.empty() && next->layers.size() > tables.size());
  tables.push_back(std::move(next));
  // release: publishes the table and its layers; pairs with the load in current().
  table.store(tables.back().get(), std::memory_order_release);
}

double GrowingBloomFilter::State::rate_of_next() const {
  if (layers.empty()) return first_layer_rate(budget);
  double left = budget;
  for (const auto& layer : layers)
    left -= layer->bits->target_rate;
  return next_layer_rate(left, layers.size());
}

// If memory is short, a smaller layer is better than none.
Result<std::unique_ptr<GrowingBloomFilter::State::Layer>>
GrowingBloomFilter::State::make_next_layer() const {
  assert(!layers.empty());
  const std::uint64_t newest = layers.back()->bits->capacity;
  std::uint64_t planned = next_layer_capacity(newest);
  auto layer = make_layer(planned);
  while (!layer && layer.error().code == ErrorCode::kNoSpace && planned > newest) {
    planned = std::max(planned / 2, newest);
    layer = make_layer(planned);
  }
  return layer;
}

Result<void> GrowingBloomFilter::State::begin_layer() {
  auto layer = make_next_layer();
  if (!layer) return tl::unexpected(layer.error());
  // Allocate everything before closing the gate: other threads wait meanwhile, and nothing may fail
  // then.
  layers.reserve(layers.size() + 1);
  tables.reserve(tables.size() + 1);
  auto next = table_of_layers(layer->get());
  layers.push_back(std::move(*layer));
  assert(next->layers.back() == layers.back().get());
  begin_newest_layer(inserting, [&] {
    growing.assert_held();
    publish(std::move(next));
  });
  return {};
}

void GrowingBloomFilter::State::make_room(Layer& full) noexcept {
  if (!growing.try_lock()) {
    // Another thread is already creating the layer.
    if (full.open_spare_room()) return;
    growing.lock();
  }
  begin_layer_if_full(full);
  growing.unlock();
}

void GrowingBloomFilter::State::begin_layer_if_full(Layer& full) noexcept {
  if (&current().newest() != &full || !full.room.used_up()) return;
  std::string error = "no memory";  // short enough to need no allocation
  try {
    auto begun = begin_layer();
    if (begun) return;
    error = std::move(begun.error().message);
  } catch (const std::bad_alloc&) {
  }
  full.room.put(std::max<std::uint64_t>(1, full.bits->inserted.sum() / kRetryShare));
  const MutexLock error_guard(error_lock);
  growth_error = std::move(error);
}

Result<std::uint64_t> GrowingBloomFilter::State::room_of_newest(std::uint64_t max_memory) {
  constexpr std::size_t kMany = 4096;
  if (current().newest().room.has_plenty(kMany)) return kMany;
  const MutexLock lock(growing);
  max_memory_bytes = max_memory;
  if (const std::uint64_t left = current().newest().room.left(); left > 0) return left;
  try {
    if (auto begun = begin_layer(); !begun) return tl::unexpected(begun.error());
  } catch (const std::bad_alloc&) {
    return error(ErrorCode::kNoSpace, "no memory for the next layer of the filter");
  }
  return current().newest().room.left();
}

Result<FilterStats> GrowingBloomFilter::expected_stats(const Options& options, std::uint64_t keys) {
  FilterStats sum{.target_rate = options.false_positive_rate, .layers = 0};
  double left = options.false_positive_rate;
  for (std::uint64_t capacity = options.capacity; sum.layers == 0 || keys > 0;
       capacity = next_layer_capacity(capacity)) {
    const double rate =
        sum.layers == 0 ? first_layer_rate(left) : next_layer_rate(left, sum.layers);
    const auto layout = growing_layer_layout(capacity, rate);
    if (!layout) return tl::unexpected(layout.error());
    const SnapshotSection section{.words = layout->blocks * kWordsPerBlock,
                                  .capacity = capacity,
                                  .target_rate = rate,
                                  .inserted = std::min(keys, capacity),
                                  .hashes = layout->hashes};
    const double fill = blocked_fill_with_keys(section);
    add_layer(sum, blocked_stats(section, {.fill = fill, .rate = 0}), 0);
    sum.fill = fill;
    ++sum.layers;
    keys -= section.inserted;
    left -= rate;
  }
  return sum;
}

FilterStats GrowingBloomFilter::State::stats() const {
  const Table& now = current();
  FilterStats sum{.target_rate = budget, .layers = static_cast<unsigned>(now.layers.size())};
  for (const Layer* layer : now.layers) {
    const FilterStats one = layer->bits->stats();
    add_layer(sum, one, layer->also_in_previous);
    sum.fill = one.fill;
  }
  return sum;
}

}  // namespace trawl
