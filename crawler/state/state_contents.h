// Checks what a state directory holds, so that files of others are never overwritten.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "trawl/result.h"

#include "crawler/config/crawl_config.h"

namespace trawl {

enum class StateContents {
  kNothing,  // missing or empty
  kRemains,  // a crawl that was killed before it began, or while it was being deleted
  kCrawl,
  kMember,  // the files of one crawler of a crawl whose frontier is in Redis
};

// Inspects the state directory of a config; changes nothing. Errors: kInvalidArgument for a
// directory that is not empty but holds no crawl, for one in which a file of Trawl's is a symbolic
// link, and for a crawl.toml that Trawl did not write. lost+found, an empty output directory and
// the log do not count.
Result<StateContents> inspect_state(const CrawlConfig& config);

// Whether the directory belongs to a crawler of a crawl that has its frontier in Redis.
bool is_of_member(const std::filesystem::path& state_dir);
// The config of that crawler. Nothing: there is no such crawler, it was killed before it began, or
// its config cannot be read.
std::optional<CrawlConfig> member_config(const std::filesystem::path& state_dir);
// Whether a crawl can be resumed from the directory, wherever its frontier is. Errors: those of
// EmbeddedFrontier::look_at().
Result<bool> holds_crawl(const std::filesystem::path& state_dir);
// A state directory is for one place of the frontier, for good. Errors: kInvalidArgument if its
// crawl has a frontier of its own and the config has [cluster], or the other way round, or another
// cluster.name.
Result<void> check_frontier_place(const CrawlConfig& config);

// The first line of a crawl.toml written by Trawl.
extern const std::string_view kSavedConfigHead;
// Whether Trawl wrote this crawl.toml.
bool is_saved_config(const std::filesystem::path& file);

}  // namespace trawl
