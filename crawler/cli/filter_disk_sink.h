// A FilterSink that builds on disk, for filters larger than memory.
#pragma once

#include <cstdint>
#include <memory>

#include "crawler/cli/filter_sink.h"

namespace trawl::cli {

// The default memory limit of a build: three quarters of the machine's memory or nine tenths of
// what is free, whichever is less.
std::uint64_t default_build_memory();

// True for blocked and classic filters.
bool can_build_on_disk(FilterKind kind);

// Builds a filter of such a kind on disk, within plan.max_memory. Errors: those of
// BlockedBloomBuilder and ClassicBuilder; kNoSpace if the disk has too little room for the file and
// the smallest spool.
Result<std::unique_ptr<FilterSink>> create_disk_sink(const FilterPlan& plan);

}  // namespace trawl::cli
