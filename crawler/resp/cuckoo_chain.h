// CuckooChain: cuckoo filters, each twice the one before, that count copies of keys.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trawl/cuckoo_filter.h"

namespace trawl::resp {

struct CuckooOptions {
  std::uint64_t capacity = 1024;  // of the first filter
  double false_positive_rate = 0.01;
  bool grows = true;
  KeyedHash hash = KeyedHash::random();
};

// The rates of all filters sum to at most the options' rate. A key may have any number of copies:
// those that find no slot in a filter with free slots are counted in crowded(), for up to
// kMostCrowded keys. Not thread-safe.
class CuckooChain {
 public:
  enum class Added : std::uint8_t { kAdded, kFull, kNoMemory };
  // Keys with copies that found no slot, and how many these are.
  using Crowded = std::map<Fingerprint, std::uint64_t>;
  static constexpr std::size_t kMostCrowded = 65536;
  static constexpr std::size_t kMostFilters = 40;

  // Errors: kInvalidArgument, kNoSpace (also if it would take more than `max_memory`).
  static Result<CuckooChain> create(const CuckooOptions& options, std::uint64_t max_memory);
  // What was saved. Errors: those of CuckooFilter::load().
  static Result<CuckooChain> load(const CuckooOptions& options,
                                  const std::vector<std::string>& files, Crowded crowded);
  // A chain with the same keys, for saving it while this one changes. Errors: kNoSpace.
  Result<CuckooChain> copy() const;
  // Writes each filter to its file. Errors: as CuckooFilter::save().
  Result<void> save(const std::vector<std::string>& files) const;

  // Stores a copy. `max_memory`: bytes that the chain may take; `must` adds a filter even if the
  // options forbid it: for replays.
  Added add(Fingerprint key, std::uint64_t max_memory, bool must = false);
  bool contains(Fingerprint key) const;
  std::uint64_t count(Fingerprint key) const;
  // Removes a copy; false if there is none.
  bool erase(Fingerprint key);

  const CuckooOptions& options() const noexcept { return options_; }
  const Crowded& crowded() const noexcept { return crowded_; }
  std::size_t filters() const noexcept { return filters_.size(); }
  std::uint64_t memory_bytes() const noexcept {
    return memory_bytes_ + kCrowdedBytes * crowded_.size();
  }
  std::uint64_t slots() const noexcept { return slots_; }
  // Copies of all keys.
  std::uint64_t keys() const;

 private:
  explicit CuckooChain(const CuckooOptions& options) : options_(options) {}
  bool add_to_existing(Fingerprint key);
  static constexpr std::uint64_t kCrowdedBytes = 64;  // of a key in the map, about
  std::optional<Added> add_beside(Fingerprint key, std::uint64_t max_memory);
  Result<void> grow(std::uint64_t max_memory);
  void append(CuckooFilter filter);

  CuckooOptions options_;
  std::vector<CuckooFilter> filters_;
  std::vector<std::uint64_t> slots_of_;
  std::vector<std::uint64_t> keys_in_;
  Crowded crowded_;
  std::uint64_t memory_bytes_ = 0;
  std::uint64_t slots_ = 0;
};

}  // namespace trawl::resp
