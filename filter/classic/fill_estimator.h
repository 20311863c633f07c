// FillEstimator: converts between the fill of a flat filter and its number of keys.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>

namespace trawl {

// The state of a flat filter, of bits or counters, computed from the number of admitted keys.
//
// After N distinct keys were offered, the share u = 1 - e^(-kN/m) of the bits is set, and the next
// key is called seen with probability u^k. Keys that are called seen set no bits but count in N. So
// of N keys the integral of 1 - u^k over 0 .. N are admitted. With dN = (m/k) du / (1 - u), and (1
// - u^k) / (1 - u) = 1 + u + ... + u^(k-1), this number is
//
//   A = (m/k) (u + u^2/2 + ... + u^k/k),
//
// and N = (m/k) (u + u^2/2 + ...), the infinite series: its remaining terms are the lost keys.
class FillEstimator {
 public:
  // `places` is m, the number of bits or counters; `hashes` is k.
  FillEstimator(double places, unsigned hashes) : hashes_(hashes), scale_(places / hashes) {
    assert(places > 0 && hashes > 0);
  }

  double admitted(double fill) const { return scale_ * first_terms(fill); }

  // The share of bits set; below 1 even if no filter could admit so many keys.
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
    // Term by term, to avoid the cancellation of a small difference of large numbers.
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
