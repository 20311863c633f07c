#include "filter/classic/classic_state.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

#include "filter/bit_merge.h"
#include "filter/classic/classic_places.h"
#include "filter/mix.h"

namespace trawl {

namespace {

// What is known of a filter from how many keys it admitted.
//
// After N different keys were offered a share u = 1 - e^(-kN/m) of the bits is set, and the next
// one is called seen with probability u^k. The keys that were called seen set no bits, but count in
// N. So of N keys the integral of 1 - u^k over 0 .. N are admitted; with dN = (m/k) du / (1 - u),
// and (1 - u^k) / (1 - u) = 1 + u + ... + u^(k-1), that is
//
//   A = (m/k) (u + u^2/2 + ... + u^k/k),
//
// and N = (m/k) (u + u^2/2 + ...) without an end: the rest of that series is what was lost.
class ClassicFill {
 public:
  explicit ClassicFill(const SnapshotSection& section)
      : hashes_(section.hashes),
        scale_(static_cast<double>(section.words) * static_cast<double>(kClassicWordBits) /
               section.hashes) {}

  double admitted(double fill) const { return scale_ * first_terms(fill); }

  // The share of bits set, below 1 even if no filter could admit so many.
  double with_admitted(double keys) const {
    const double sum = keys / scale_;
    double low = 0, high = std::min(sum, kAlmostFull);
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (first_terms(middle) <= sum ? low : high) = middle;
    }
    return low;
  }

  double rate(double fill) const { return std::pow(fill, hashes_); }

  double losses(double fill) const {
    fill = std::min(fill, kAlmostFull);
    if (fill > 0.9) return scale_ * (-std::log1p(-fill) - first_terms(fill));
    // Term by term: of a small difference of large numbers nothing would be left.
    double power = std::pow(fill, hashes_);
    double sum = 0;
    for (unsigned i = hashes_ + 1; power > sum * 1e-17; ++i) {
      power *= fill;
      sum += power / i;
    }
    return scale_ * sum;
  }

 private:
  static constexpr double kAlmostFull = 1 - 1e-15;

  double first_terms(double fill) const {
    double sum = 0;
    double power = 1;
    for (unsigned i = 1; i <= hashes_; ++i) {
      power *= fill;
      sum += power / i;
    }
    return sum;
  }

  unsigned hashes_;
  double scale_;  // m / k
};

}  // namespace

bool is_classic_section(const SnapshotSection& section) noexcept {
  return section.hashes > 0 && section.hashes <= kMaxClassicHashes && section.words > 0 &&
         section.words % kClassicLineWords == 0 && section.detail == 0;
}

FilterStats classic_stats(const SnapshotSection& section, double fill) {
  const ClassicFill model(section);
  // An overfull filter admits fewer and fewer of the keys that are offered, and their number says
  // little: then the bits are asked.
  const double expected_fill = section.inserted > section.capacity
                                   ? fill
                                   : model.with_admitted(static_cast<double>(section.inserted));
  return {.capacity = section.capacity,
          .target_rate = section.target_rate,
          .inserted = section.inserted,
          .memory_bytes = section.words * sizeof(std::uint64_t),
          .hashes = section.hashes,
          .fill = fill,
          .current_rate = model.rate(expected_fill),
          .expected_false_positives = model.losses(expected_fill)};
}

Result<std::unique_ptr<ClassicBloomFilter::State>> ClassicBloomFilter::State::of_header(
    const SnapshotHeader& header, const std::string& path) {
  const SnapshotSection& section = header.sections.front();
  if (!is_classic_section(section)) return damaged_snapshot(path, "its parameters are impossible");
  auto words = WordArray::allocate(section.words, path);
  if (!words) return tl::unexpected(words.error());
  auto state = std::make_unique<State>(std::move(*words), section.hashes, section.capacity,
                                       section.target_rate, KeyedHash::from_key(header.hash_key));
  state->inserted.add(section.inserted);
  return state;
}

SnapshotHeader ClassicBloomFilter::State::header() const {
  return {.kind = kKind,
          .hash_key = hash.key(),
          .capacity = capacity,
          .target_rate = target_rate,
          .sections = {{.words = words.size(),
                        .capacity = capacity,
                        .target_rate = target_rate,
                        .inserted = inserted.sum(),
                        .hashes = hashes}}};
}

void ClassicBloomFilter::State::store_words(std::uint64_t first,
                                            std::span<const std::uint64_t> from) noexcept {
  for (std::size_t i = 0; i < from.size(); ++i)
    words[first + i].store(from[i], std::memory_order_relaxed);
}

void ClassicBloomFilter::State::copy_words(std::uint64_t first,
                                           std::span<std::uint64_t> out) const noexcept {
  for (std::size_t i = 0; i < out.size(); ++i) {
    // acquire: pairs with the release in ClassicBits::test_and_set(); whoever finds a bit in the
    // copy also sees what its inserter did before.
    out[i] = words[first + i].load(std::memory_order_acquire);
  }
}

Result<void> ClassicBloomFilter::State::merge(const State& other) {
  if (auto same = check_mergeable(*this, other); !same) return same;
  const double filled = merge_bits(words, other.words);
  inserted.reset(static_cast<std::uint64_t>(
      std::round(ClassicFill(header().sections.front()).admitted(filled))));
  return {};
}

double ClassicBloomFilter::State::fill() const noexcept {
  constexpr std::uint64_t kSampledWords = 1 << 18;
  const std::uint64_t sampled = std::min(words.size(), kSampledWords);
  std::uint64_t set = 0;
  for (std::uint64_t i = 0; i < sampled; ++i) {
    // Evenly spread, in 128 bits so that a large filter does not overflow.
    const auto at = static_cast<std::uint64_t>(static_cast<Uint128>(i) * words.size() / sampled);
    set += static_cast<std::uint64_t>(std::popcount(words[at].load(std::memory_order_relaxed)));
  }
  return static_cast<double>(set) / static_cast<double>(sampled * kClassicWordBits);
}

FilterStats ClassicBloomFilter::State::stats() const {
  return classic_stats(header().sections.front(), fill());
}

}  // namespace trawl
