// CrawlTotals: what a crawl has fetched over all its runs, in a small file of the state directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "trawl/result.h"

namespace trawl {

// The bytes that scope.max_bytes counts. Written with each checkpoint and at the end: a crash
// forgets what came since. Used by one thread at a time.
class CrawlTotals {
 public:
  explicit CrawlTotals(const std::filesystem::path& state_dir);

  // 0 if there is no such file, or it says nothing.
  std::uint64_t read_bytes() const;
  Result<void> write_bytes(std::uint64_t bytes) const;

  static std::filesystem::path path(const std::filesystem::path& state_dir);

 private:
  std::string path_;
};

}  // namespace trawl
