// What all membership filters share: options, statistics and the set of calls.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trawl/fingerprint.h"
#include "trawl/result.h"

namespace trawl {

// The values are part of the file format.
enum class FilterKind : std::uint32_t {
  kBlocked = 1,   // BlockedBloomFilter
  kGrowing = 2,   // GrowingBloomFilter
  kClassic = 3,   // ClassicBloomFilter
  kCounting = 4,  // CountingBloomFilter
  kCuckoo = 5,    // CuckooFilter
};

// "blocked", "growing", "classic", "counting", "cuckoo".
std::string_view name_of(FilterKind kind) noexcept;
// The kind with that name, or std::nullopt.
std::optional<FilterKind> filter_kind_named(std::string_view name) noexcept;

// The size of a filter, and its hash.
struct FilterOptions {
  // Keys the filter is sized for, at least 1. Each filter's comment says what happens beyond that.
  std::uint64_t capacity = 1'000'000;
  // The false-positive rate with `capacity` keys inserted; above 0 and below 1.
  double false_positive_rate = 1e-6;
  // The hash that makes fingerprints for this filter, stored in its files. If absent, one with a
  // random key from the operating system. Filters never call it: it is stored so that the filter's
  // user can make matching fingerprints.
  std::optional<KeyedHash> hash = {};
};

// What a filter holds now.
struct FilterStats {
  std::uint64_t capacity = 0;
  double target_rate = 0;          // the rate asked for at `capacity` keys
  std::uint64_t inserted = 0;      // keys for which insert returned true, less those erased
  std::uint64_t memory_bytes = 0;  // of the bits, counters or slots
  unsigned hashes = 0;             // bits or counters per key (k); of the newest layer
  unsigned layers = 1;             // more than 1 only in a growing filter
  // The share of the bits set, counters above 0, or slots taken; of the newest layer.
  double fill = 0;
  // The false-positive rate of a query now: computed from `inserted`, and beyond the capacity from
  // the bits set.
  double current_rate = 0;
  double expected_false_positives = 0;  // expected number of new keys wrongly called seen
  // True if the rate is above the target by more than the error of the estimate. More keys than the
  // capacity do not always make it so, since sizes are rounded up.
  bool overfull() const noexcept { return current_rate > 1.05 * target_rate; }
};

// The calls of every filter. insert() returns true iff this call added the key; a filter that can
// be full returns a Result<bool>.
template <class F>
concept MembershipFilter = requires(F filter, const F constant, Fingerprint key,
                                    std::span<const Fingerprint> keys, std::span<bool> answers,
                                    const std::string& path) {
  { F::create(typename F::Options{}) } -> std::same_as<Result<F>>;
  { F::load(path) } -> std::same_as<Result<F>>;
  { constant.save(path) } -> std::same_as<Result<std::uint64_t>>;
  { filter.insert(key) } -> std::convertible_to<Result<bool>>;
  { filter.insert_batch(keys, answers) } -> std::convertible_to<Result<std::size_t>>;
  { constant.contains(key) } -> std::same_as<bool>;
  { constant.contains_batch(keys, answers) } -> std::same_as<std::size_t>;
  { constant.stats() } -> std::same_as<FilterStats>;
  { constant.hash() } -> std::same_as<const KeyedHash&>;
};

}  // namespace trawl
