// The FilterSink of filters that are larger than the memory.
#pragma once

#include <cstdint>
#include <memory>

#include "crawler/cli/filter_sink.h"

namespace trawl::cli {

// What a build may take unless it is said: three quarters of the machine's memory or nine tenths of
// what is free, whichever is less.
std::uint64_t default_build_memory();

// Blocked and classic ones.
bool can_build_on_disk(FilterKind kind);

// A filter of such a kind by way of the disk, in plan.max_memory. Errors: those of
// BlockedBloomBuilder and ClassicBuilder; kNoSpace if there is too little disk for the file and the
// least spool.
Result<std::unique_ptr<FilterSink>> create_disk_sink(const FilterPlan& plan);

}  // namespace trawl::cli
