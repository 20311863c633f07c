#include "filter/growing/growing_state.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>
#include <numbers>

#include <fmt/format.h>

#include "filter/growing/layer_statistics.h"
#include "filter/growing/layer_switch.h"

namespace trawl {

// The shares of all layers sum to 1, since the sum of 1 / i^2 is pi^2 / 6.
double growing_layer_rate(double budget, std::size_t index) {
  const auto nth = static_cast<double>(index + 1);
  return budget * 6 / (std::numbers::pi * std::numbers::pi * nth * nth);
}

Result<BlockLayout> growing_layer_layout(std::uint64_t planned, double budget, std::size_t index) {
  return choose_layout(planned + planned / kSpareShare, growing_layer_rate(budget, index));
}

Result<std::unique_ptr<GrowingBloomFilter::State>> GrowingBloomFilter::State::create(
    const Options& options) {
  const double rate = options.false_positive_rate;
  if (!(rate > 0 && rate < 1)) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("a filter's false-positive rate must be above 0 and below 1, not {}", rate));
  }
  auto state = std::make_unique<State>(options.capacity, rate,
                                       options.hash ? *options.hash : KeyedHash::random(),
                                       options.max_memory_bytes);
  auto layer = state->make_layer();
  if (!layer) return tl::unexpected(layer.error());
  state->layers.push_back(std::move(*layer));
  state->open();
  return state;
}

Result<std::unique_ptr<GrowingBloomFilter::State::Layer>> GrowingBloomFilter::State::make_layer()
    const {
  const std::size_t index = layers.size();
  const std::string name =
      index == 0 ? std::string("the filter") : fmt::format("layer {} of the filter", index + 1);
  // One bit to spare: the room of a layer is counted in signed numbers.
  if (index >= kMaxSnapshotSections ||
      index + static_cast<std::size_t>(std::bit_width(capacity)) > 62) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} would need room for {} keys doubled {} times: that is too large",
                            name, capacity, index));
  }
  const std::uint64_t planned = capacity << index;
  const double rate = growing_layer_rate(budget, index);
  const auto layout = growing_layer_layout(planned, budget, index);
  if (!layout) {
    return fail(layout.error().code,
                fmt::format("{} would need a rate of {:.3g}, its share of {}: {}", name, rate,
                            budget, layout.error().message));
  }
  const std::uint64_t words = layout->blocks * kWordsPerBlock;
  std::uint64_t bytes = words * sizeof(std::uint64_t);
  for (const auto& layer : layers)
    bytes += layer->bits->words.bytes();
  if (max_memory_bytes != 0 && bytes > max_memory_bytes) {
    return fail(
        ErrorCode::kNoSpace,
        fmt::format("{}the filter would need {} bytes of memory, {} are allowed: allow "
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
  tables.push_back(std::move(next));
  // release: publishes the table and its layers; pairs with the load in current().
  table.store(tables.back().get(), std::memory_order_release);
}

Result<void> GrowingBloomFilter::State::begin_layer() {
  auto layer = make_layer();
  if (!layer) return tl::unexpected(layer.error());
  // All memory first: others wait meanwhile, and nothing may fail.
  layers.reserve(layers.size() + 1);
  tables.reserve(tables.size() + 1);
  auto next = table_of_layers(layer->get());
  layers.push_back(std::move(*layer));
  begin_newest_layer(inserting, [&] { publish(std::move(next)); });
  return {};
}

void GrowingBloomFilter::State::make_room(Layer& full) noexcept {
  std::unique_lock lock(growing, std::try_to_lock);
  if (!lock) {
    // Another thread is at it.
    if (full.open_spare_room()) return;
    lock.lock();
  }
  if (&current().newest() != &full || !full.room.used_up()) return;
  std::string error = "no memory";  // short: kept without taking any
  try {
    auto begun = begin_layer();
    if (begun) return;
    error = std::move(begun.error().message);
  } catch (const std::bad_alloc&) {
  }
  full.room.put(std::max<std::uint64_t>(1, full.bits->inserted.sum() / kRetryShare));
  const std::lock_guard error_guard(error_lock);
  growth_error = std::move(error);
}

FilterStats GrowingBloomFilter::State::stats() const {
  const Table& now = current();
  FilterStats sum{.target_rate = budget, .layers = static_cast<unsigned>(now.layers.size())};
  for (const Layer* layer : now.layers) {
    const Bits& bits = *layer->bits;
    const std::uint64_t keys = bits.inserted.sum();
    const auto [rate, lost] = bits.after_admitting(static_cast<double>(keys));
    add_layer(sum,
              {.capacity = bits.capacity,
               .inserted = keys,
               .memory_bytes = bits.words.bytes(),
               .hashes = bits.hashes,
               .current_rate = rate,
               .expected_false_positives = lost},
              layer->also_in_previous);
  }
  sum.fill = now.layers.back()->bits->fill();
  return sum;
}

}  // namespace trawl
