// Recovery: rebuilds the seen-filter from the newest intact checkpoint and the admission log.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trawl/embedded_options.h"
#include "trawl/growing_bloom_filter.h"

#include "frontier/recovery/manifest.h"
#include "frontier/store/store.h"

namespace trawl {

// The options of the crawl's filter: those of the manifest, and the memory limit of `options`.
GrowingBloomFilter::Options filter_options(const EmbeddedOptions& options,
                                           const Manifest& manifest);

// Returns a filter with every durable admission, describes its source in `report`, removes unusable
// checkpoints from the manifest, and notes there how fast the log was replayed. Uses the first
// usable source: the checkpoints, newest first, each with the log from its sequence on; the whole
// log; the ledger, if the crawl keeps one. `fresh` has the size that the crawl's filter began with,
// and its memory limit. Errors: kCorrupt if no source is usable; the message names `trawl frontier
// repair`, and the report's warnings list the problems.
Result<GrowingBloomFilter> recover_filter(const std::filesystem::path& directory,
                                          Manifest& manifest, const Store& store,
                                          const GrowingBloomFilter::Options& fresh,
                                          OpenReport& report);

// Loads a checkpoint's filter. Errors: kCorrupt if it is damaged, of another crawl, or covers more
// than the store's `admitted`; kNotFound, kIo, kNoSpace.
Result<GrowingBloomFilter> load_checkpoint(const std::filesystem::path& path,
                                           const CheckpointEntry& entry, std::uint64_t admitted,
                                           const GrowingBloomFilter::Options& fresh);

// The same with the intact parts of layer files that are damaged or missing; `damage` receives what
// is wrong with them.
Result<GrowingBloomFilter> load_intact_checkpoint(const std::filesystem::path& path,
                                                  const CheckpointEntry& entry,
                                                  std::uint64_t admitted,
                                                  const GrowingBloomFilter::Options& fresh,
                                                  std::vector<std::string>& damage);

// Whether another source may succeed after this error. (For example, a filter that does not fit
// into memory does not fit from any source.)
bool is_damage(const Error& error);

// An empty filter whose first layer has room for `keys`, if the memory limit of `fresh` allows it.
Result<GrowingBloomFilter> make_filter(const GrowingBloomFilter::Options& fresh,
                                       std::uint64_t keys);

// Collects single fingerprints and inserts them in batches. Counts the new ones.
class BatchInserter {
 public:
  explicit BatchInserter(GrowingBloomFilter& filter) : filter_(filter) { keys_.reserve(kAtOnce); }
  BatchInserter(const BatchInserter&) = delete;
  BatchInserter& operator=(const BatchInserter&) = delete;

  void add(Fingerprint key) {
    keys_.push_back(key);
    if (keys_.size() == kAtOnce) flush();
  }
  // Inserts the rest. Returns the number of keys that were new to the filter since the last call.
  std::uint64_t finish();

 private:
  // Batches, so that cache misses overlap.
  static constexpr std::size_t kAtOnce = 4096;
  void flush();

  GrowingBloomFilter& filter_;
  std::vector<Fingerprint> keys_;
  std::uint64_t fresh_ = 0;
};

// Inserts all of the ledger; returns its number of records.
Result<std::uint64_t> insert_ledger(const Store& store, BatchInserter& inserter);

}  // namespace trawl
