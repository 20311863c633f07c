// ServedFilter: one of the filters that the server answers for.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "trawl/blocked_bloom_filter.h"
#include "trawl/growing_bloom_filter.h"
#include "trawl/mapped_filter.h"

#include "crawler/resp/cuckoo_chain.h"
#include "crawler/resp/log_record.h"

namespace trawl::resp {

// Why not all keys were added.
enum class Stop : std::uint8_t { kNone, kFull, kNoMemory };

struct AddProgress {
  std::size_t done = 0;  // keys with an answer; the next one could not be added if there is one
  Stop stop = Stop::kNone;
};

// Used by the server's thread alone, except that a checkpoint saves what body() shares.
class ServedFilter {
 public:
  // Shared with a checkpoint that saves it while keys are inserted.
  using Growing = std::shared_ptr<GrowingBloomFilter>;
  using Fixed = std::shared_ptr<BlockedBloomFilter>;
  using Cuckoo = std::unique_ptr<CuckooChain>;
  // Files that are read in place: nothing can be added.
  using Mapped = std::vector<MappedFilter>;
  using Body = std::variant<Growing, Fixed, Cuckoo, Mapped>;

  // An empty filter of at most `max_memory` bytes. Errors: kInvalidArgument, kNoSpace.
  static Result<std::unique_ptr<ServedFilter>> create(std::uint64_t number, const FilterPlan& plan,
                                                      std::uint64_t max_memory);
  ServedFilter(std::uint64_t number, FilterPlan plan, Body body);

  std::uint64_t number() const noexcept { return number_; }
  const FilterPlan& plan() const noexcept { return plan_; }
  const std::string& name() const noexcept { return plan_.name; }
  const KeyedHash& hash() const noexcept { return hash_; }
  bool is_cuckoo() const noexcept { return plan_.kind == ServedKind::kCuckoo; }
  bool is_mapped() const noexcept { return std::holds_alternative<Mapped>(body_); }
  const Body& body() const noexcept { return body_; }
  CuckooChain* cuckoo() noexcept;

  // Of a Bloom filter: inserts leading keys, and says for each whether it is new. A growing filter
  // takes at most `max_memory` bytes.
  AddProgress add(std::span<const Fingerprint> keys, std::span<bool> fresh,
                  std::uint64_t max_memory);
  // The same for keys that were new and acknowledged: neither memory nor a capacity keeps them out,
  // though it grows within `max_memory` if it can, as it did. Each is counted: those that are in
  // the filter were added while it was saved.
  void replay(std::span<const Fingerprint> keys, std::span<bool> fresh, std::uint64_t max_memory);
  // The same for keys that were answered as known: those that are not are added and counted.
  void replay_known(std::span<const Fingerprint> keys, std::span<bool> fresh,
                    std::uint64_t max_memory);
  void contains(std::span<const Fingerprint> keys, std::span<bool> found) const;
  bool contains(Fingerprint key) const;
  // Of a cuckoo filter in memory.
  CuckooChain::Added add_copy(Fingerprint key, std::uint64_t max_memory, bool must = false);
  bool erase(Fingerprint key);

  std::uint64_t inserted() const noexcept { return inserted_; }
  std::uint64_t erased() const noexcept { return erased_; }
  std::uint64_t memory_bytes() const noexcept { return memory_bytes_; }
  // Bytes of the files of a mapped filter, else of the memory.
  std::uint64_t size_bytes() const;
  std::uint64_t capacity() const;
  std::uint64_t filters() const;
  // Of a filter that was loaded, before a replay.
  void set_counts(std::uint64_t inserted, std::uint64_t erased) noexcept {
    inserted_ = inserted;
    erased_ = erased;
  }
  // Of a mapped cuckoo filter: what its files do not have.
  void set_crowded(CuckooChain::Crowded crowded) { crowded_ = std::move(crowded); }

 private:
  AddProgress add_growing(GrowingBloomFilter& filter, std::span<const Fingerprint> keys,
                          std::span<bool> fresh, std::uint64_t max_memory);
  AddProgress add_fixed(BlockedBloomFilter& filter, std::span<const Fingerprint> keys,
                        std::span<bool> fresh);
  std::size_t insert_all(std::span<const Fingerprint> keys, std::span<bool> fresh,
                         std::uint64_t max_memory);

  std::uint64_t number_;
  FilterPlan plan_;
  KeyedHash hash_;
  Body body_;
  CuckooChain::Crowded crowded_;
  std::uint64_t inserted_ = 0;
  std::uint64_t erased_ = 0;
  std::uint64_t memory_bytes_ = 0;
  std::uint64_t refused_memory_ = 0;  // with so much a growing filter could not grow, and is full
};

}  // namespace trawl::resp
