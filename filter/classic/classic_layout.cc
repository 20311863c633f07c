#include "filter/classic/classic_layout.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "trawl/sizing.h"

#include "filter/classic/classic_places.h"

namespace trawl {

namespace {

constexpr double kNoFilterHasBits = 9223372036854775808.0;  // 2^63
// Above this rate the filter would find nearly every key, and its file could not store the rate.
constexpr double kUselessRate = 1 - 1e-6;
constexpr double kLeastRate = 1e-300;

Result<void> check(const ClassicBloomFilter::Options& options) {
  if (options.capacity == 0)
    return error(ErrorCode::kInvalidArgument, "a filter's capacity must be at least 1");
  if (options.bits != 0 && options.bits_per_key != 0) {
    return error(
        ErrorCode::kInvalidArgument,
        fmt::format("a classic filter's size is given twice, as {} bits and as {} bits per "
                    "key: give one of them",
                    options.bits, options.bits_per_key));
  }
  if (!(options.bits_per_key >= 0) || std::isinf(options.bits_per_key)) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("a classic filter's bits per key must be a number above 0, not {}: 10 "
                             "give a rate of 1e-2, 20 one of 1e-4",
                             options.bits_per_key));
  }
  if (options.hashes > kMaxClassicHashes) {
    return error(
        ErrorCode::kInvalidArgument,
        fmt::format("a classic filter can have from 1 to {} hashes, not {}: the best number is "
                    "0.69 times the bits per key",
                    kMaxClassicHashes, options.hashes));
  }
  return {};
}

// Errors: kInvalidArgument for a rate that no filter can have.
Result<double> bits_asked_for(const ClassicBloomFilter::Options& options) {
  const auto keys = static_cast<double>(options.capacity);
  if (options.bits != 0) return static_cast<double>(options.bits);
  if (options.bits_per_key != 0) return std::ceil(options.bits_per_key * keys);
  const auto best = classic_bloom_size(options.capacity, options.false_positive_rate);
  if (options.hashes == 0 || !best)
    return best.map([](const BloomSize& size) { return static_cast<double>(size.bits); });
  return std::ceil(bloom_bits_with_hashes(keys, options.false_positive_rate, options.hashes));
}

}  // namespace

Result<ClassicLayout> choose_classic_layout(const ClassicBloomFilter::Options& options) {
  if (const auto checked = check(options); !checked) return tl::unexpected(checked.error());
  const auto asked = bits_asked_for(options);
  if (!asked) return tl::unexpected(asked.error());
  if (!(*asked < kNoFilterHasBits)) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("a classic filter of {:.3g} bits would need {:.3g} bytes: lower its "
                             "capacity or its bits per key, or allow a higher rate",
                             *asked, *asked / 8));
  }
  constexpr std::uint64_t kLineBits = kClassicLineWords * kClassicWordBits;
  const auto bits = static_cast<std::uint64_t>(std::max(*asked, 1.0));
  const std::uint64_t lines = (bits + kLineBits - 1) / kLineBits;
  const auto keys = static_cast<double>(options.capacity);
  const bool sized = options.bits != 0 || options.bits_per_key != 0;
  // If the rate decides the size, use the exact number of bits, without the rounding to a line.
  const auto decisive = static_cast<double>(sized ? lines * kLineBits : bits);
  const unsigned hashes = options.hashes != 0
                              ? options.hashes
                              : std::min(best_bloom_hashes(keys, decisive), kMaxClassicHashes);
  ClassicLayout layout{.words = lines * kClassicLineWords,
                       .hashes = hashes,
                       .target_rate = options.false_positive_rate};
  if (!sized) return layout;
  const double rate = bloom_rate(keys, decisive, hashes);
  if (rate > kUselessRate) {
    return error(
        ErrorCode::kInvalidArgument,
        fmt::format(
            "in a classic filter of {} bits with {} hashes, {} keys set every bit, so that it "
            "finds every key: use more bits, fewer hashes or a lower capacity",
            lines * kLineBits, hashes, options.capacity));
  }
  layout.target_rate = std::max(rate, kLeastRate);
  return layout;
}

}  // namespace trawl
