// FreshStart: what `trawl crawl --fresh` does with the crawl that a state directory holds.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trawl/result.h"

#include "crawler/config/config.h"
#include "crawler/state/state_guard.h"

namespace trawl {

// The state is deleted, as far as it is Trawl's own. The output is kept: its directory is renamed
// to the first of DIRECTORY.1, DIRECTORY.2, ... that is free; where that cannot be, since more than
// the output would move with it, the files of the output move to DIRECTORY/output.1 and so on.
class FreshStart {
 public:
  // Looks at everything, output included, and changes nothing but the text in the file LOCK; keeps
  // others out of the state from now on. Errors: what would keep carry_out() or the new crawl from
  // being done.
  static Result<FreshStart> prepare(const CrawlConfig& config);
  // Does it, and says what was deleted and renamed, a line each. Wherever it is interrupted,
  // another --fresh goes on. To be called once.
  Result<std::vector<std::string>> carry_out();

 private:
  FreshStart() = default;
  Result<void> find_output();
  Result<void> move_output(std::vector<std::string>& report);
  Result<void> delete_state(std::vector<std::string>& report);

  std::filesystem::path state_;
  StateContents contents_ = StateContents::kNothing;
  std::shared_ptr<const void> lock_;  // EmbeddedFrontier::lock()
  // The output of the crawl that is there, if it is known to be its own, and not empty.
  std::optional<CrawlConfig> former_;
  std::filesystem::path output_;
  bool whole_ = true;  // the directory itself is renamed, not what is in it
};

}  // namespace trawl
