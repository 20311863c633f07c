// Recovery: rebuilds the seen-filter from the newest intact checkpoint and the admission log.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "trawl/embedded_options.h"
#include "trawl/growing_bloom_filter.h"

#include "frontier/recovery/manifest.h"
#include "frontier/store/store.h"

namespace trawl {

// What the options ask of a frontier's filter, with this hash.
GrowingBloomFilter::Options filter_options(const EmbeddedOptions& options, const KeyedHash& hash);

// Returns a filter that knows every durable admission, says in `report` how, and takes checkpoints
// that are of no use out of the manifest. What it goes by, the first that serves: the checkpoints,
// newest first, each with the log from where it ends; the whole log; the ledger, if the crawl keeps
// one. `fresh` sizes a filter that is rebuilt without a checkpoint, and limits the memory of any.
// Errors: kCorrupt if none serves, naming what does: `trawl frontier repair`; the report's warnings
// then are what is wrong.
Result<GrowingBloomFilter> recover_filter(const std::filesystem::path& directory,
                                          Manifest& manifest, const Store& store,
                                          const GrowingBloomFilter::Options& fresh,
                                          OpenReport& report);

// The filter that a checkpoint holds. Errors: kCorrupt if it is damaged, of another crawl, or knows
// more than the `admitted` that the store has; kNotFound, kIo, kNoSpace.
Result<GrowingBloomFilter> load_checkpoint(const std::filesystem::path& path,
                                           const CheckpointEntry& entry, std::uint64_t admitted,
                                           const GrowingBloomFilter::Options& fresh);

// Whether an error is one that another source may help against. (A filter that does not fit into
// memory, say, fits from no other.)
bool is_damage(const Error& error);

// An empty filter for at least so many keys, if `fresh` allows it the memory, in its first layer.
Result<GrowingBloomFilter> make_filter(const GrowingBloomFilter::Options& fresh,
                                       std::uint64_t keys);

// Inserts fingerprints that come one by one, many at once. Says how many were new.
class FilterFeeder {
 public:
  explicit FilterFeeder(GrowingBloomFilter& filter) : filter_(filter) { keys_.reserve(kAtOnce); }
  FilterFeeder(const FilterFeeder&) = delete;
  FilterFeeder& operator=(const FilterFeeder&) = delete;

  void add(Fingerprint key) {
    keys_.push_back(key);
    if (keys_.size() == kAtOnce) flush();
  }
  // Inserts what is left; returns how many keys were new to the filter since the last call.
  std::uint64_t finish();

 private:
  // So that the cache misses of many keys overlap.
  static constexpr std::size_t kAtOnce = 4096;
  void flush();

  GrowingBloomFilter& filter_;
  std::vector<Fingerprint> keys_;
  std::uint64_t fresh_ = 0;
};

// Feeds the filter with all of the ledger; returns how many records that were.
Result<std::uint64_t> feed_ledger(const Store& store, FilterFeeder& feeder);

}  // namespace trawl
