// What `trawl filter` says of a filter it made, and where it may put its file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trawl/filter.h"

namespace trawl::cli {

// Whether a filter may be written to `path`, so that this is known before the work and not after
// it. Errors: kAlreadyExists if there is a file and not `force`; kInvalidArgument if what is there
// is no file; those of the system if the directory is missing or not writable.
Result<void> check_filter_output(const std::string& path, bool force);

// The same for the file of its keys.
Result<void> check_exact_output(const std::string& filter, bool force);

// "1000000 keys, 4.66 MiB, rate of false positives now 9.5e-07"
std::string filter_summary(const FilterStats& stats, std::uint64_t file_bytes);

// Prints a warning to standard error if the filter's rate is worse than the one asked for.
void warn_if_overfull(const std::string& path, const FilterStats& stats);

// Of a growing filter whose capacity was far off (better_capacity()): what another would have cost,
// "expected_urls 3200000 would have taken 16 MiB of memory instead of 23 MiB, ..." with `option`
// for its first word. Empty of others.
std::string capacity_advice(const FilterStats& stats, std::string_view option);

// For who has replaced a filter by one without a file of its keys: removes that of the one before,
// and says so. Errors: kPermission, kIo.
Result<void> remove_stale_keys(const std::string& filter, bool quiet);

}  // namespace trawl::cli
