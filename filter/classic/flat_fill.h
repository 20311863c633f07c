// FlatFill: what the fill of a flat filter says of its keys, and the other way round.
#pragma once

#include <algorithm>
#include <cmath>

namespace trawl {

// What is known of a flat filter, of bits or of counters, from how many keys it admitted.
//
// After N different keys were offered a share u = 1 - e^(-kN/m) of the bits is set, and the next
// one is called seen with probability u^k. The keys that were called seen set no bits, but count in
// N. So of N keys the integral of 1 - u^k over 0 .. N are admitted; with dN = (m/k) du / (1 - u),
// and (1 - u^k) / (1 - u) = 1 + u + ... + u^(k-1), that is
//
//   A = (m/k) (u + u^2/2 + ... + u^k/k),
//
// and N = (m/k) (u + u^2/2 + ...) without an end: the rest of that series is what was lost.
class FlatFill {
 public:
  // `places` (m) bits or counters, of which a key has `hashes` (k).
  FlatFill(double places, unsigned hashes) : hashes_(hashes), scale_(places / hashes) {}

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

}  // namespace trawl
