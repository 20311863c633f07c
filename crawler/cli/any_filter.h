// AnyFilter: a filter whose kind is known only at run time, from an option or a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "trawl/blocked_bloom_filter.h"
#include "trawl/classic_bloom_filter.h"
#include "trawl/counting_bloom_filter.h"
#include "trawl/cuckoo_filter.h"
#include "trawl/growing_bloom_filter.h"

#include "filter/snapshot/snapshot_format.h"

namespace trawl::cli {

// Reads the header and section table of a filter's file, without its bits. Errors: kNotFound,
// kCorrupt, kUnsupportedVersion, kIo.
Result<SnapshotIndex> read_filter_index(const std::string& path);

// Reads the whole file and verifies each chunk's checksum. Errors: kCorrupt with the chunk's
// number, kIo.
Result<void> verify_filter_file(const std::string& path);

// A filter in memory.
class AnyFilter {
 public:
  // The options that set a size apply to the classic kind only. Errors: those of the kind's
  // create().
  static Result<AnyFilter> create(FilterKind kind, const ClassicBloomFilter::Options& options);

  // Errors: those of the kind's load().
  static Result<AnyFilter> load(FilterKind kind, const std::string& path);

  // Returns how many were new. Errors: kNoSpace if the filter is full.
  Result<std::size_t> insert_batch(std::span<const Fingerprint> keys, std::span<bool> admitted);
  // Whether keys can be erased: true for counting and cuckoo filters.
  static bool can_erase(FilterKind kind) noexcept;
  // Returns how many of the keys were in the filter. Only for kinds that can erase.
  std::size_t erase_batch(std::span<const Fingerprint> keys) noexcept;
  Result<std::uint64_t> save(const std::string& path) const;
  FilterStats stats() const;
  const KeyedHash& hash() const;
  // Why a growing filter could not grow; empty if it could, and for other kinds.
  std::string growth_error() const;

 private:
  using Variant = std::variant<BlockedBloomFilter, GrowingBloomFilter, ClassicBloomFilter,
                               CountingBloomFilter, CuckooFilter>;
  explicit AnyFilter(Variant filter) : filter_(std::move(filter)) {}
  Variant filter_;
};

}  // namespace trawl::cli
