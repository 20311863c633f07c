// Checks what a state directory holds, so that files of others are never overwritten.
#pragma once

#include <filesystem>
#include <string_view>

#include "trawl/result.h"

#include "crawler/config/crawl_config.h"

namespace trawl {

enum class StateContents {
  kNothing,  // missing or empty
  kRemains,  // a crawl that was killed before it began, or while it was being deleted
  kCrawl,
};

// Inspects the state directory of a config; changes nothing. Errors: kInvalidArgument for a
// directory that is not empty but holds no crawl, for one in which a file of Trawl's is a symbolic
// link, and for a crawl.toml that Trawl did not write. lost+found, an empty output directory and
// the log do not count.
Result<StateContents> inspect_state(const CrawlConfig& config);

// The first line of a crawl.toml written by Trawl.
extern const std::string_view kSavedConfigHead;
// Whether Trawl wrote this crawl.toml.
bool is_saved_config(const std::filesystem::path& file);

}  // namespace trawl
