// The size of each kind of filter, computed with the same layout functions as create().
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "trawl/sizing.h"

#include "filter/blocked/block_layout.h"
#include "filter/classic/classic_layout.h"
#include "filter/counting/counter_array.h"
#include "filter/cuckoo/cuckoo_layout.h"
#include "filter/growing/growing_bloom_filter_state.h"
#include "filter/snapshot/snapshot_format.h"

namespace trawl {

namespace {

using Options = ClassicBloomFilter::Options;

constexpr std::uint64_t kMaxKeys = std::uint64_t{1} << 60;

struct Layout {
  std::uint64_t words;
  unsigned hashes;
  double rate;  // with `capacity` keys inserted
  double target_rate;
};

Layout blocked_layout(const BlockLayout& layout, const Options& options) {
  const double load = static_cast<double>(options.capacity) / static_cast<double>(layout.blocks);
  return {.words = layout.blocks * kWordsPerBlock,
          .hashes = layout.hashes,
          .rate = blocked_bloom_rate(load, layout.hashes),
          .target_rate = options.false_positive_rate};
}

Layout flat_layout(std::uint64_t words, std::uint64_t places, unsigned hashes, double target_rate,
                   std::uint64_t capacity) {
  return {.words = words,
          .hashes = hashes,
          .rate = bloom_rate(static_cast<double>(capacity), static_cast<double>(places), hashes),
          .target_rate = target_rate};
}

Result<Layout> layout_of(FilterKind kind, const Options& options) {
  const std::uint64_t capacity = options.capacity;
  const double rate = options.false_positive_rate;
  switch (kind) {
    case FilterKind::kBlocked:
      return choose_layout(capacity, rate).map([&](const BlockLayout& layout) {
        return blocked_layout(layout, options);
      });
    case FilterKind::kGrowing:
      return growing_layer_layout(capacity, first_layer_rate(rate))
          .map([&](const BlockLayout& layout) { return blocked_layout(layout, options); });
    case FilterKind::kClassic:
      return choose_classic_layout(options).map([&](const ClassicLayout& layout) {
        return flat_layout(layout.words, layout.words * kClassicWordBits, layout.hashes,
                           layout.target_rate, capacity);
      });
    case FilterKind::kCounting:
      return classic_bloom_size(capacity, rate).map([&](const BloomSize& size) {
        const std::uint64_t words = counter_words(size.bits);
        return flat_layout(words, words * kCountersPerWord, size.hashes, rate, capacity);
      });
    case FilterKind::kCuckoo:
      return choose_cuckoo_layout(capacity, rate).map([&](const CuckooLayout& layout) {
        return Layout{.words = layout.words(),
                      .hashes = kBucketsOfKey,
                      .rate = layout.rate_with(static_cast<double>(capacity)),
                      .target_rate = rate};
      });
  }
  return error(ErrorCode::kInvalidArgument,
               "unknown kind of filter: use blocked, growing, classic, counting or cuckoo");
}

bool fits(FilterKind kind, std::uint64_t keys, double rate, std::uint64_t bits) {
  const auto size = filter_size(kind, {.capacity = keys, .false_positive_rate = rate});
  return size && size->bits <= bits;
}

// Rounds up to three significant digits.
double round_up(double rate) {
  const double unit = std::pow(10, std::floor(std::log10(rate)) - 2);
  // Through text, so that the result is exactly the number that is printed.
  return std::stod(fmt::format("{:.2e}", std::ceil(rate / unit * (1 - 1e-12)) * unit));
}

tl::unexpected<Error> no_room(FilterKind kind, std::uint64_t keys, std::uint64_t bits,
                              const Result<FilterSize>& least) {
  if (!least) return tl::unexpected(least.error());
  return error(
      ErrorCode::kInvalidArgument,
      fmt::format("{} bits are too few for a {} filter with a capacity of {}: it needs at least {}",
                  bits, name_of(kind), keys, least->bits));
}

}  // namespace

Result<FilterSize> filter_size(FilterKind kind, const Options& options) {
  if (kind != FilterKind::kClassic &&
      (options.bits != 0 || options.bits_per_key != 0 || options.hashes != 0)) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("a {} filter has no options for bits and hashes: give its rate, or "
                             "use a classic filter",
                             name_of(kind)));
  }
  if (kind == FilterKind::kGrowing && !(options.false_positive_rate < 1)) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("a filter's false-positive rate must be above 0 and below 1, not {}",
                             options.false_positive_rate));
  }
  const auto layout = layout_of(kind, options);
  if (!layout) return tl::unexpected(layout.error());
  const SnapshotSection section{.words = layout->words};
  return FilterSize{.kind = kind,
                    .capacity = options.capacity,
                    .target_rate = layout->target_rate,
                    .bits = layout->words * 64,
                    .hashes = layout->hashes,
                    .bits_per_key = static_cast<double>(layout->words) * 64 /
                                    static_cast<double>(options.capacity),
                    .rate = layout->rate,
                    .file_bytes = snapshot_file_bytes(section)};
}

Result<std::uint64_t> filter_capacity(FilterKind kind, double rate, std::uint64_t bits) {
  const auto least = filter_size(kind, {.capacity = 1, .false_positive_rate = rate});
  if (!least || least->bits > bits) return no_room(kind, 1, bits, least);
  std::uint64_t low = 1;
  std::uint64_t high = 2;
  while (high < kMaxKeys && fits(kind, high, rate, bits))
    low = std::exchange(high, high * 2);
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (fits(kind, middle, rate, bits) ? low : high) = middle;
  }
  return low;
}

Result<double> filter_rate(FilterKind kind, std::uint64_t keys, std::uint64_t bits) {
  constexpr double kHighest = 0.999;
  if (fits(kind, keys, kMinBloomRate, bits)) return kMinBloomRate;
  if (!fits(kind, keys, kHighest, bits)) {
    return no_room(kind, keys, bits,
                   filter_size(kind, {.capacity = keys, .false_positive_rate = kHighest}));
  }
  double low = std::log(kMinBloomRate);
  double high = std::log(kHighest);
  for (int i = 0; i < 24; ++i) {  // relative error at most 2e-6
    const double middle = (low + high) / 2;
    (fits(kind, keys, std::exp(middle), bits) ? high : low) = middle;
  }
  // Start just below, since the bisection may have ended slightly above a round number. (A size is
  // only within 1 % of the smallest, so it may be larger at a higher rate.)
  double rate = round_up(std::exp(high) * (1 - 1e-5));
  while (rate < kHighest && !fits(kind, keys, rate, bits))
    rate = round_up(rate * 1.001);
  return std::min(rate, kHighest);
}

std::optional<std::uint64_t> better_capacity(const FilterStats& stats) {
  constexpr std::uint64_t kWorthwhile = 64 << 20;
  std::uint64_t unit = 1;
  while (stats.inserted / unit >= 100)
    unit *= 10;
  const std::uint64_t keys = std::max<std::uint64_t>(1, (stats.inserted + unit - 1) / unit * unit);
  if (stats.layers > 1) return keys;
  const auto right = filter_size(FilterKind::kGrowing,
                                 {.capacity = keys, .false_positive_rate = stats.target_rate});
  if (!right || stats.memory_bytes < 2 * right->memory_bytes() ||
      stats.memory_bytes < right->memory_bytes() + kWorthwhile)
    return std::nullopt;
  return keys;
}

}  // namespace trawl
