// IdleMark: what a crawler that has nothing to do says about its buckets.
#pragma once

#include <cstdint>

#include "base/mix.h"
#include "frontier/shared/bucket_keys.h"

namespace trawl {

// A hash of buckets and the numbers of their last batches. A crawler that reads the same batches
// later knows that nothing has changed since, so that the other one is still idle.
class IdleMark {
 public:
  void add(BucketId bucket, std::uint64_t version) noexcept {
    sum_ += mix64(mix64(std::uint64_t{bucket} + 1) + version);
  }
  // Never 0.
  std::uint64_t value() const noexcept { return sum_ | 1; }

 private:
  std::uint64_t sum_ = 0;  // does not depend on the order
};

}  // namespace trawl
