// Every kind of filter, for typed tests.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "trawl/blocked_bloom_filter.h"
#include "trawl/classic_bloom_filter.h"
#include "trawl/counting_bloom_filter.h"
#include "trawl/cuckoo_filter.h"
#include "trawl/growing_bloom_filter.h"

namespace trawl::test {

using FilterKinds = testing::Types<BlockedBloomFilter, GrowingBloomFilter, ClassicBloomFilter,
                                   CountingBloomFilter, CuckooFilter>;
struct KindName {
  template <class Filter>
  static std::string GetName(int) {
    return std::string(name_of(Filter::kKind));
  }
};

}  // namespace trawl::test
