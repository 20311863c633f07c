// What lies in a state directory, and whether it is Trawl's: nothing of others is written over.
#pragma once

#include <filesystem>
#include <string_view>

#include "trawl/result.h"

#include "crawler/config/config.h"

namespace trawl {

enum class StateContents {
  kNothing,  // missing, or empty
  kRemains,  // of a crawl that was killed before it had begun, or while it was deleted
  kCrawl,
};

// Looks into the state directory of a config; changes nothing. A directory that is not empty and
// holds none of these is of others: kInvalidArgument, and so is one where a file of Trawl's is a
// symbolic link, or crawl.toml a config that Trawl did not write. lost+found, an empty output
// directory and the log do not count.
Result<StateContents> look_at_state(const CrawlConfig& config);

// What crawl.toml begins with, by which Trawl knows its own.
extern const std::string_view kSavedConfigHead;
// Whether Trawl wrote this crawl.toml.
bool is_saved_config(const std::filesystem::path& file);

}  // namespace trawl
