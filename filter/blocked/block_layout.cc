// The rate of a layout is computed, not estimated: BlockRate (block_layout.h) sums over the loads
// of blocks, and fp(j) follows from the probabilities of unset places of a word. choose_layout()
// searches, for each number of hashes k, the highest load per block that keeps the rate. The rate
// rises with the load, so bisection finds it. As a function of k the highest load rises up to about
// k = -log2(rate), the textbook's best k, and then falls. A key's bit costs a locked operation, so
// of all k whose size is within 1 % of the smallest the lowest is chosen. What the search found is
// kept, since a shared frontier has a filter for each bucket.
#include "filter/blocked/block_layout.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <numbers>
#include <numeric>

#include <fmt/format.h>

#include "base/mutex.h"

namespace trawl {

namespace {

constexpr double kMinRate = 1e-15;
constexpr double kWorthwhileSize = 0.99;  // a size within 1 % of the smallest

// A number for each count of places of a word that a key may ask for.
using ByPlaces = std::array<double, kMaxHashes / kWordsPerBlock + 2>;

// By inclusion and exclusion, d given places of a word are all set with the sum over i of (-1)^i
// binomial(d, i) u(i), with u(i) the probability that i given places are all unset. Returns the
// factors of u(i) for `bits` random places, of which some may be the same.
ByPlaces factors_of_unset(unsigned bits) {
  ByPlaces distinct{1.0};  // [d]: the probability that there are d different ones
  for (unsigned thrown = 0; thrown < bits; ++thrown) {
    for (unsigned d = thrown + 1; d > 0; --d)
      distinct[d] = (distinct[d] * d + distinct[d - 1] * (kBitsPerWord - d + 1)) / kBitsPerWord;
    distinct[0] = 0;
  }
  ByPlaces factors{};
  for (unsigned d = 0; d <= bits; ++d) {
    double binomial = 1;
    for (unsigned i = 0; i <= d; ++i) {
      factors[i] += (i % 2 == 0 ? binomial : -binomial) * distinct[d];
      binomial = binomial * (d - i) / (i + 1);
    }
  }
  return factors;
}

double sum_of_products(const ByPlaces& some, const ByPlaces& others) {
  return std::inner_product(some.begin(), some.end(), others.begin(), 0.0);
}

double power(double base, unsigned exponent) {
  double product = 1;
  for (; exponent > 0; --exponent)
    product *= base;
  return product;
}

// The range of loads to sum over for a Poisson mean: all except a tail of less than 1e-20.
struct Loads {
  std::size_t first, last;
};
Loads likely_loads(double mean) {
  const double spread = 12 * std::sqrt(mean) + 40;
  return {.first = mean > spread ? static_cast<std::size_t>(mean - spread) : 0,
          .last = static_cast<std::size_t>(mean + spread)};
}

// P(`load`) for a Poisson variable of the given mean.
double poisson(double mean, std::size_t load) {
  if (mean <= 0) return load == 0 ? 1 : 0;
  const auto j = static_cast<double>(load);
  int sign = 0;  // std::lgamma() would write it to a global variable, a data race
  return std::exp(j * std::log(mean) - mean - ::lgamma_r(j + 1, &sign));
}

// An upper bound of the mean load that keeps the rate: that of a flat filter with its best number
// of hashes, which uses its bits better than blocks do.
double load_without_blocks(double rate) {
  return std::min(4.0 * kBitsPerBlock,
                  kBitsPerBlock * std::pow(std::numbers::ln2, 2) / -std::log(rate));
}

// The highest mean load per block, at most `high`, that keeps the rate.
double highest_load(const BlockRate& candidate, double rate, double high) {
  double low = 0;
  for (int i = 0; i < 36; ++i) {  // error below 1e-7
    const double middle = (low + high) / 2;
    (candidate.at(middle) <= rate ? low : high) = middle;
  }
  return low;
}

// The number of hashes for a rate, and the load that it allows.
struct Choice {
  unsigned hashes = 0;
  double load = 0;
};

// See the head of this file.
Choice search(double rate) {
  const double textbook = -std::log2(rate);
  const unsigned first = std::clamp(static_cast<unsigned>(textbook * 0.4), 1u, kMaxHashes);
  std::array<double, kMaxHashes + 1> load{};
  double best_load = 0;
  const double highest = load_without_blocks(rate);
  const std::size_t max_load = likely_loads(highest).last + 1;
  for (unsigned hashes = first; hashes <= kMaxHashes; ++hashes) {
    const BlockRate candidate(hashes, max_load);
    if (candidate.at(kWorthwhileSize * best_load) > rate) break;
    load[hashes] = highest_load(candidate, rate, highest);
    best_load = std::max(best_load, load[hashes]);
  }
  unsigned hashes = first;
  while (load[hashes] < kWorthwhileSize * best_load)
    ++hashes;
  return {.hashes = hashes, .load = load[hashes]};
}

// The choices for the rates that are asked for most, which are few. Thread-safe.
class Choices {
 public:
  Choice of(double rate) {
    {
      const MutexLock lock(mutex_);
      if (const auto found = found_.find(rate); found != found_.end()) return found->second;
    }
    const Choice choice = search(rate);
    const MutexLock lock(mutex_);
    if (found_.size() == kMost) found_.clear();
    found_[rate] = choice;
    return choice;
  }

 private:
  static constexpr std::size_t kMost = 256;
  Mutex mutex_;
  std::map<double, Choice> found_ TRAWL_GUARDED_BY(mutex_);
};

}  // namespace

BlockRate::BlockRate(unsigned hashes, std::size_t max_load) {
  const unsigned whole = hashes / kWordsPerBlock;  // bits of a key in every word
  const unsigned extra = hashes % kWordsPerBlock;  // words that get one bit more
  const ByPlaces of_whole = factors_of_unset(whole);
  const ByPlaces of_extra = factors_of_unset(whole + 1);
  // For each count of places, the probability that one more key leaves them unset, and that all
  // keys did.
  ByPlaces left, unset;
  for (unsigned i = 0; i < left.size(); ++i) {
    const double hit = i / static_cast<double>(kBitsPerWord);
    left[i] = power(1 - hit, whole) * (1 - hit * extra / kWordsPerBlock);
    unset[i] = 1;
  }
  constexpr double kAlmostOne = 1 - 1e-9;
  while (rate_of_load_.size() < max_load) {
    const double rate = power(sum_of_products(of_whole, unset), kWordsPerBlock - extra) *
                        power(sum_of_products(of_extra, unset), extra);
    if (rate > kAlmostOne) break;
    rate_of_load_.push_back(rate);
    for (unsigned i = 0; i < left.size(); ++i)
      unset[i] *= left[i];
  }
}

const BlockRate& BlockRate::of(unsigned hashes) {
  assert(hashes <= kMaxHashes);
  static std::array<std::once_flag, kMaxHashes + 1> made;
  static std::array<std::unique_ptr<const BlockRate>, kMaxHashes + 1> rates;
  std::call_once(made[hashes], [hashes] { rates[hashes] = std::make_unique<BlockRate>(hashes); });
  return *rates[hashes];
}

double BlockRate::at(double keys_per_block) const {
  if (keys_per_block > 2 * kMaxLoad) return 1;  // a damaged file may claim any number of keys
  const auto [first, last] = likely_loads(keys_per_block);
  double rate = 0;
  // Each probability follows from the previous one; the first is large enough not to underflow.
  double probability = poisson(keys_per_block, first);
  for (std::size_t load = first; load <= last; ++load) {
    rate += probability * (load < rate_of_load_.size() ? rate_of_load_[load] : 1);
    probability *= keys_per_block / static_cast<double>(load + 1);
  }
  return std::min(rate, 1.0);
}

BlockRate::Admission BlockRate::after_admitting(double keys_per_block) const {
  // Of each small step of new keys the share 1 - rate is admitted. Integrated with the trapezoidal
  // rule; the integrand is smooth at the scale of a step.
  constexpr int kSteps = 256;
  constexpr int kFewSteps = 8;  // for a loss that is negligible
  constexpr double kNegligible = 1e-12;
  constexpr double kAlmostOne = 1 - 1e-6;  // hardly any further key will be admitted
  const double step = keys_per_block / (at(keys_per_block) < kNegligible ? kFewSteps : kSteps);
  double offered = 0, admitted = 0, rate = at(0);
  while (keys_per_block - admitted > step * 1e-6 && rate < kAlmostOne) {
    const double next = at(offered + step);
    const double kept = 1 - (rate + next) / 2;
    const double part = std::min(1.0, (keys_per_block - admitted) / (step * kept));
    offered += part * step;
    admitted += part * step * kept;
    rate = part < 1 ? rate + part * (next - rate) : next;
  }
  return {.rate = rate, .lost = offered - admitted};
}

Result<BlockLayout> choose_layout(std::uint64_t capacity, double rate) {
  if (capacity == 0)
    return error(ErrorCode::kInvalidArgument, "a filter's capacity must be at least 1");
  if (!(rate >= kMinRate && rate < 1)) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("a filter's false-positive rate must be from {} to below 1, not {}",
                             kMinRate, rate));
  }
  static Choices choices;
  const auto [hashes, load] = choices.of(rate);
  const double blocks = std::ceil(static_cast<double>(capacity) / load);
  if (!(blocks < std::ldexp(1.0, 54))) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("a filter for {} keys at a rate of {} would need {:.3g} bytes: lower "
                             "its capacity or allow a higher rate",
                             capacity, rate, blocks * kBitsPerBlock / 8));
  }
  return BlockLayout{
      .blocks = static_cast<std::uint64_t>(blocks), .hashes = hashes, .keys_per_block = load};
}

}  // namespace trawl
