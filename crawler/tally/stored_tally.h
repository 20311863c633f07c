// StoredTally: the tally and the history of a crawl in its state directory.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "trawl/result.h"

#include "crawler/tally/crawl_history.h"
#include "crawler/tally/crawl_tally.h"

namespace trawl {

// The file `tally` has the numbers of all lines of pages.jsonl up to an offset; the lines after it
// are added when it is read. So the numbers add up to the lines after a crash, too. The format is
// in docs/formats.md.
struct StoredTally {
  TallySnapshot tally = {};
  std::vector<HistorySample> history = {};  // the oldest first
  std::chrono::milliseconds history_interval = CrawlHistory::kFirstInterval;
  // Skipped URLs by reason, over all runs, as of the last store.
  std::map<std::string, std::uint64_t> skipped = {};
  std::uint64_t peak_memory = 0;           // bytes of the process, of all runs
  std::uint64_t elapsed_ms = 0;            // of all runs
  std::vector<std::string> warnings = {};  // set by read(): what was damaged

  static std::filesystem::path path(const std::filesystem::path& state_dir);
  // Reads the file, and the lines that `pages` (pages.jsonl) has after it. A missing file is an
  // empty tally; a damaged one is made again from all lines. Errors: those of reading.
  static Result<StoredTally> read(const std::filesystem::path& state_dir,
                                  const std::filesystem::path& pages);
  // Replaces the file. A crash leaves the old file or the new one.
  Result<void> write(const std::filesystem::path& state_dir) const;
};

}  // namespace trawl
