// Whether a crawl may write to the output directory that its config names.
#pragma once

#include <filesystem>
#include <string_view>

#include "trawl/result.h"

#include "crawler/config/config.h"

namespace trawl {

// For a crawl that begins: the directory holds no pages of another. Changes nothing. Errors: that,
// and what would keep Output::open() from writing there.
Result<void> check_output_is_free(const CrawlConfig& config);

// Whether there is something in it: not lost+found, locks and files without a byte alone.
bool holds_output(const std::filesystem::path& directory);

// Errors: kInUse if a process writes the output of a crawl there.
Result<void> check_nobody_writes(const std::filesystem::path& directory);

// A name of a file that Output makes with this prefix of WARC files.
bool is_output_name(std::string_view name, std::string_view warc_prefix);

}  // namespace trawl
