// What all membership filters share: their options, their statistics, and the calls they have.
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

// The numbers are those of the file format.
enum class FilterKind : std::uint32_t {
  kBlocked = 1,   // BlockedBloomFilter
  kGrowing = 2,   // GrowingBloomFilter
  kClassic = 3,   // ClassicBloomFilter
  kCounting = 4,  // CountingBloomFilter
  kCuckoo = 5,    // CuckooFilter
};

// "blocked", "growing", "classic", "counting", "cuckoo".
std::string_view name_of(FilterKind kind) noexcept;
// The kind of that name, or nothing.
std::optional<FilterKind> filter_kind_named(std::string_view name) noexcept;

struct FilterOptions {
  // Keys the filter is sized for, at least 1. What happens beyond is each filter's own.
  std::uint64_t capacity = 1'000'000;
  // The rate of false positives when `capacity` keys are in; above 0 and below 1.
  double false_positive_rate = 1e-6;
  // The hash that makes fingerprints for this filter; kept in its files. Unless given, one with a
  // key from the operating system. The filters never call it: it is here so that whoever has the
  // filter can make the fingerprints that belong to it.
  std::optional<KeyedHash> hash = {};
};

struct FilterStats {
  std::uint64_t capacity = 0;
  double target_rate = 0;          // the rate asked for at `capacity` keys
  std::uint64_t inserted = 0;      // keys that insert called new, less those erased
  std::uint64_t memory_bytes = 0;  // of the bits, counters or slots
  unsigned hashes = 0;             // bits or counters a key has (k); of the newest layer
  unsigned layers = 1;             // more than one only in a filter that grows
  // The share of the bits set, counters above 0, or slots taken; of the newest layer.
  double fill = 0;
  // The rate of false positives that a query would see now: with `inserted` keys in, and of a
  // filter beyond its capacity from its bits.
  double current_rate = 0;
  double expected_false_positives = 0;  // expected number of new keys that were called seen
  // Whether the rate is worse than the one asked for, by more than an estimate may be off. (More
  // keys than it is sized for need not mean that: sizes are rounded up.)
  bool overfull() const noexcept { return current_rate > 1.05 * target_rate; }
};

// The calls that every filter has. insert() returns a bool: true iff this call added the key; or,
// where a filter can be full, a Result of it.
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
