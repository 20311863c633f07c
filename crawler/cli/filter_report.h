// Reports of `trawl filter` on a filter it made, and checks of the output path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trawl/filter.h"

namespace trawl::cli {

// Checks before the work whether a filter may be written to `path`. Errors: kAlreadyExists if there
// is a file and `force` is false; kInvalidArgument if there is something other than a file; those
// of the system if the directory is missing or not writable.
Result<void> check_filter_output(const std::string& path, bool force);

// The same for the file of its keys.
Result<void> check_exact_output(const std::string& filter, bool force);

// "1000000 keys, 4.66 MiB, rate of false positives now 9.5e-07"
std::string filter_summary(const FilterStats& stats, std::uint64_t file_bytes);

// Prints a warning to standard error if the filter's rate is worse than the one asked for.
void warn_if_overfull(const std::string& path, const FilterStats& stats);

// For a growing filter whose capacity was far off (better_capacity()): what a better one would have
// cost, "expected_urls 3200000 would have taken 16 MiB of memory instead of 23 MiB, ...", with
// `option` as the first word. Empty for other filters.
std::string capacity_advice(const FilterStats& stats, std::string_view option);

// Called after a filter was replaced by one without a keys file: removes the keys file of the old
// filter and prints a line. Errors: kPermission, kIo.
Result<void> remove_stale_keys(const std::string& filter, bool quiet);

}  // namespace trawl::cli
