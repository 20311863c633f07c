// CrawlTotals: what a crawl has fetched over all its runs, in a small file of the state directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "trawl/result.h"

namespace trawl {

// Written with each checkpoint and at the end: a crash forgets what came since.
class CrawlTotals {
 public:
  struct Totals {
    std::uint64_t bytes = 0;      // that scope.max_bytes counts
    std::uint64_t truncated = 0;  // URLs done with a part of the body
  };

  explicit CrawlTotals(const std::filesystem::path& state_dir);

  // 0 where there is no such file, or it does not say.
  Totals read() const;
  Result<void> write(const Totals& totals) const;

  static std::filesystem::path path(const std::filesystem::path& state_dir);

 private:
  std::string path_;
};

}  // namespace trawl
