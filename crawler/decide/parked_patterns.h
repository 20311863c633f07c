// ParkedPatterns: the URL patterns that scope.park_pattern_after has parked, in a file of the state
// directory, so that the next run and `trawl explain` know them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

#include "base/file_io.h"
#include "base/mutex.h"

namespace trawl {

// A pattern is appended when it is parked, up to kMaxBytes of them. The file is text: a line
// "park_pattern_after N", then a pattern a line (see url_pattern_of()), in the order they were
// parked. It is not synced: a pattern that a power loss takes is found again.
class ParkedPatterns {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

  static std::filesystem::path path(const std::filesystem::path& state_dir) {
    return state_dir / "parked-patterns";
  }
  // The patterns in the file; none if there is no file, or its limit is another than
  // `park_pattern_after`: then what it parked is to be tried again. A last line that a crash cut
  // short is left out. Errors: kIo; kCorrupt if it is not such a file.
  static Result<std::vector<std::string>> read(const std::filesystem::path& state_dir,
                                               std::uint32_t park_pattern_after);

  // Goes on with the file of the run before, or begins a new one. Errors: those of read(),
  // kNoSpace.
  static Result<std::unique_ptr<ParkedPatterns>> open(const std::filesystem::path& state_dir,
                                                      bool resumed,
                                                      std::uint32_t park_pattern_after);

  // Those of earlier runs.
  const std::vector<std::string>& before() const { return before_; }
  // Thread-safe. Errors: kIo, kNoSpace.
  Result<void> add(std::string_view pattern) TRAWL_EXCLUDES(mutex_);

 private:
  ParkedPatterns(OutputFile file, std::vector<std::string> before)
      : before_(std::move(before)), file_(std::move(file)) {}

  const std::vector<std::string> before_;
  Mutex mutex_;
  OutputFile file_ TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
