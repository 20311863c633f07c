// The textbook formulas of trawl/sizing.h.
#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "trawl/sizing.h"

namespace trawl {

namespace {

constexpr double kTooManyBits = 9223372036854775808.0;  // 2^63

Result<void> check(std::uint64_t keys, double rate) {
  if (keys == 0)
    return error(ErrorCode::kInvalidArgument, "a filter's capacity must be at least 1");
  if (!(rate >= kMinBloomRate && rate < 1)) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("a filter's false-positive rate must be from {} to below 1, not {}",
                             kMinBloomRate, rate));
  }
  return {};
}

// The bits with which the best k gives the rate. For rates above 0.5 that k would be below 1; then
// k = 1.
double bits_for(double keys, double rate) {
  return rate <= 0.5 ? bloom_bits(keys, rate) : -keys / std::log1p(-rate);
}

Result<BloomSize> flat_size(std::uint64_t keys, double rate, double bits) {
  const auto n = static_cast<double>(keys);
  if (!(bits < kTooManyBits)) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("a filter for {} keys at a rate of {} would need {:.3g} bytes: lower "
                             "its capacity or allow a higher rate",
                             keys, rate, bits / 8));
  }
  const unsigned hashes = best_bloom_hashes(n, bits);
  return BloomSize{.bits = static_cast<std::uint64_t>(bits),
                   .hashes = hashes,
                   .bits_per_key = bits / n,
                   .rate = bloom_rate(n, bits, hashes)};
}

}  // namespace

double bloom_bits(double keys, double rate) {
  return -keys * std::log(rate) / (std::numbers::ln2 * std::numbers::ln2);
}

double bloom_hashes(double bits_per_key) {
  return bits_per_key * std::numbers::ln2;
}

double bloom_rate(double keys, double bits, double hashes) {
  // expm1: otherwise the rate of a nearly empty filter would consist of rounding errors.
  return std::pow(-std::expm1(-hashes * keys / bits), hashes);
}

double bloom_bits_with_hashes(double keys, double rate, double hashes) {
  return -hashes * keys / std::log1p(-std::pow(rate, 1 / hashes));
}

double bloom_keys(double bits, double rate, double hashes) {
  return -(bits / hashes) * std::log1p(-std::pow(rate, 1 / hashes));
}

unsigned best_bloom_hashes(double keys, double bits) {
  constexpr double kMost = 1e9;
  const double best = std::clamp(std::floor(bloom_hashes(bits / keys)), 1.0, kMost);
  const auto below = static_cast<unsigned>(best);
  return bloom_rate(keys, bits, below) <= bloom_rate(keys, bits, below + 1) ? below : below + 1;
}

Result<BloomSize> classic_bloom_size(std::uint64_t keys, double rate) {
  if (const auto checked = check(keys, rate); !checked) return tl::unexpected(checked.error());
  return flat_size(keys, rate, std::ceil(bits_for(static_cast<double>(keys), rate)));
}

std::uint64_t classic_bloom_capacity(std::uint64_t bits, unsigned hashes, double rate) {
  const double k = hashes != 0 ? hashes : std::max(1.0, -std::log2(rate));
  const double keys = std::floor(bloom_keys(static_cast<double>(bits), rate, k));
  return static_cast<std::uint64_t>(std::clamp(keys, 1.0, kTooManyBits));
}

Result<BloomSize> classic_bloom_size_in_whole_bits(std::uint64_t keys, double rate) {
  if (const auto checked = check(keys, rate); !checked) return tl::unexpected(checked.error());
  return flat_size(keys, rate, std::ceil(bits_for(1, rate)) * static_cast<double>(keys));
}

}  // namespace trawl
