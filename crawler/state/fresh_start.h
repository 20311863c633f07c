// FreshStart: removes the crawl in a state directory for `trawl crawl --fresh`.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trawl/result.h"

#include "crawler/config/crawl_config.h"
#include "crawler/state/state_contents.h"

namespace trawl {

// Deletes the state, but no files of others. Keeps the output: its directory is renamed to the
// first of DIRECTORY.1, DIRECTORY.2, ... that is free. If the directory cannot be renamed (it is a
// mount point or a link, or holds more than the output), the output files are moved to
// DIRECTORY/output.1 and so on.
class FreshStart {
 public:
  // Checks everything, including the output, and locks the state directory; changes nothing except
  // the text of the file LOCK. Errors: whatever would prevent carry_out() or the new crawl;
  // kInvalidArgument if the frontier is in Redis, where it stays.
  static Result<FreshStart> prepare(const CrawlConfig& config);
  // Does it. Returns what was deleted and renamed, one line each. If interrupted anywhere, another
  // --fresh continues. Call once.
  Result<std::vector<std::string>> carry_out();

 private:
  FreshStart() = default;
  Result<void> find_output();
  Result<void> move_output(std::vector<std::string>& report);
  Result<void> delete_state(std::vector<std::string>& report);

  std::filesystem::path state_;
  StateContents contents_ = StateContents::kNothing;
  std::shared_ptr<const void> lock_;  // EmbeddedFrontier::lock()
  // The output of the old crawl; empty if there is none, or it may belong to another crawl.
  std::optional<CrawlConfig> former_;
  std::filesystem::path output_;
  bool done_ = false;
  bool whole_ = true;  // the directory itself is renamed, not what is in it
};

}  // namespace trawl
