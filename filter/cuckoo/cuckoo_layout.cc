#include "filter/cuckoo/cuckoo_layout.h"

#include <cmath>

#include <fmt/format.h>

namespace trawl {

namespace {

// The most crowded part of a small table is full before 95 % of the table is.
constexpr double kSpareSlots = 32;

}  // namespace

double CuckooLayout::rate_with(double keys) const noexcept {
  return 2 * keys / (static_cast<double>(buckets()) * static_cast<double>(tags()));
}

double CuckooLayout::losses_with(double keys) const noexcept {
  // The integral of r / (1 - r) over the keys; each key raises r by `slope`.
  const double slope = rate_with(1);
  return -keys - std::log1p(-slope * keys) / slope;
}

Result<CuckooLayout> choose_cuckoo_layout(std::uint64_t capacity, double rate) {
  if (capacity == 0)
    return error(ErrorCode::kInvalidArgument, "a filter's capacity must be at least 1");
  if (!(rate > 0 && rate < 1)) {
    return error(
        ErrorCode::kInvalidArgument,
        fmt::format("a filter's false-positive rate must be above 0 and below 1, not {}", rate));
  }
  const double keys = static_cast<double>(capacity);
  const double slots = keys / kCuckooLoad + kSpareSlots;
  const double groups = std::ceil(slots / (kSlotsPerBucket * kBucketsPerGroup));
  CuckooLayout layout{.groups = 0, .tag_bits = kMinTagBits};
  if (!(groups * kMaxTagBits < std::ldexp(1.0, 57))) {
    return error(
        ErrorCode::kInvalidArgument,
        fmt::format("a cuckoo filter for {} keys would need {:.3g} slots: lower its capacity",
                    capacity, slots));
  }
  layout.groups = static_cast<std::uint64_t>(groups);
  while (layout.tag_bits <= kMaxTagBits && layout.rate_with(keys) > rate)
    ++layout.tag_bits;
  if (layout.tag_bits > kMaxTagBits) {
    layout.tag_bits = kMaxTagBits;
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("a cuckoo filter's tags have at most {} bits, which give {} keys a "
                             "false-positive rate of {:.3g}, not {}: allow a higher rate, or use "
                             "another kind of filter",
                             kMaxTagBits, capacity, layout.rate_with(keys), rate));
  }
  return layout;
}

std::optional<CuckooLayout> cuckoo_layout_of(const SnapshotSection& section) noexcept {
  const unsigned tag_bits = section.detail;
  if (section.hashes != kBucketsOfKey || tag_bits < kMinTagBits || tag_bits > kMaxTagBits ||
      section.words % tag_bits != 0) {
    return std::nullopt;
  }
  const CuckooLayout layout{.groups = section.words / tag_bits, .tag_bits = tag_bits};
  if (layout.slots() < section.capacity) return std::nullopt;
  return layout;
}

}  // namespace trawl
