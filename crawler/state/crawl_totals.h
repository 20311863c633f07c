// CrawlTotals: sums over all runs of a crawl, in a small file of the state directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "trawl/result.h"

namespace trawl {

// Written each minute, with each checkpoint and at the end; a crash loses what was counted since.
class CrawlTotals {
 public:
  struct Totals {
    std::uint64_t bytes = 0;      // counted for scope.max_bytes
    std::uint64_t truncated = 0;  // URLs that ended with a part of the body
  };

  explicit CrawlTotals(const std::filesystem::path& state_dir);

  // Returns zeros if the file is missing or damaged.
  Totals read() const;
  Result<void> write(const Totals& totals) const;

  static std::filesystem::path path(const std::filesystem::path& state_dir);

 private:
  std::string path_;
};

}  // namespace trawl
