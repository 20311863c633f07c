// Recovery: rebuilds the seen-filter from the newest intact checkpoint and the admission log.
#pragma once

#include <filesystem>

#include "trawl/frontier.h"
#include "trawl/growing_bloom_filter.h"

#include "frontier/manifest.h"
#include "frontier/store.h"

namespace trawl {

// Returns a filter that knows every durable admission, says in `report` how, and takes checkpoints
// that are of no use out of the manifest. `fresh` sizes a filter that is rebuilt from the log
// alone, and limits the memory of any. Errors: kCorrupt if no checkpoint fits the store and the log
// does not reach back to the first admission.
Result<GrowingBloomFilter> recover_filter(const std::filesystem::path& directory,
                                          Manifest& manifest, const Store& store,
                                          const GrowingBloomFilter::Options& fresh,
                                          OpenReport& report);

}  // namespace trawl
