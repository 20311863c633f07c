// Repair: rebuilds the filter of a crawl whose checkpoints are lost.
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

// EmbeddedFrontier::repair(). `options` must be checked, with an absolute directory; the mode is
// ignored.
Result<RepairReport> repair_frontier(const EmbeddedOptions& options);

// The sources of a rebuilt filter.
struct SalvageReport {
  std::uint64_t known = 0;      // URLs in the filter
  std::uint64_t log_start = 0;  // the log has every admission from here on
  std::vector<std::string> notes;
};

// Builds a filter from everything that is left of the admitted URLs: the newest usable checkpoint,
// if there is one; the ledger, if the crawl keeps one; the admission log, even with gaps; the
// waiting URLs. Unreadable parts of the store are noted and skipped. Errors: kNoSpace if there is
// no memory for the filter.
Result<GrowingBloomFilter> salvage_filter(const std::filesystem::path& directory,
                                          const Manifest& manifest, const Store& store,
                                          const Profile& profile,
                                          const GrowingBloomFilter::Options& fresh,
                                          const Counters& counters, SalvageReport& salvage);

}  // namespace trawl
