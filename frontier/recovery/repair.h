// Repair: a new record of the URLs seen, for a crawl whose checkpoints are lost.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trawl/canonical_profile.h"
#include "trawl/embedded_options.h"
#include "trawl/growing_bloom_filter.h"

#include "frontier/recovery/manifest.h"
#include "frontier/store/store.h"

namespace trawl {

// Frontier::repair. The options are checked, their directory absolute; their mode does not matter.
Result<RepairReport> repair_frontier(const EmbeddedOptions& options);

// What a filter can still be made of, and what it was made of.
struct Salvage {
  std::uint64_t known = 0;      // URLs in the filter
  std::uint64_t log_start = 0;  // from here on the log has every admission
  std::vector<std::string> notes;
};

// Makes a filter of all that the store still knows of the URLs that were admitted: the newest
// checkpoint that fits, if there is one; the ledger, if the crawl keeps one; what is left of the
// admission log, whatever its gaps; the URLs that wait. Parts of the store that cannot be read are
// noted and passed over. Errors: kNoSpace if there is no memory for the filter.
Result<GrowingBloomFilter> salvage_filter(const std::filesystem::path& directory,
                                          const Manifest& manifest, const Store& store,
                                          const Profile& profile,
                                          const GrowingBloomFilter::Options& fresh,
                                          const Counters& counters, Salvage& salvage);

}  // namespace trawl
