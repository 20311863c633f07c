// Checks whether a crawl may write to its output directory.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "trawl/result.h"

#include "crawler/config/crawl_config.h"
#include "crawler/output/built_in_sinks.h"

namespace trawl {

// For a new crawl: the directory must hold no pages of another crawl, and Output::open() must be
// able to write there; else an error. Changes nothing.
Result<void> check_output_is_free(const CrawlConfig& config,
                                  std::span<const SinkKind> sinks = built_in_sinks());

// Whether the directory has anything other than lost+found, locks and empty files.
bool holds_output(const std::filesystem::path& directory);

// Errors: kInUse if a process is writing the output of a crawl there.
Result<void> check_nobody_writes(const std::filesystem::path& directory);

// Whether a crawl with this config makes output files of this name.
bool is_output_name(std::string_view name, const CrawlConfig& config);

}  // namespace trawl
