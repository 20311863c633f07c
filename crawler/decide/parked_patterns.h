// ParkedPatterns: the URL patterns parked by scope.park_pattern_after, stored in a file of the
// state directory for later runs and `trawl explain`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

#include "base/file_io.h"
#include "base/mutex.h"

namespace trawl {

// A pattern is appended when it is parked, up to kMaxBytes in total. The file is text: a line
// "park_pattern_after N", then one pattern per line (see url_pattern_of()), in the order in which
// they were parked. A run begins it with the patterns of earlier runs, atomically; without any,
// with the first that it parks. What is appended is not synced: patterns lost at a power loss are
// found again.
class ParkedPatterns {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

  static std::filesystem::path path(const std::filesystem::path& state_dir) {
    return state_dir / "parked-patterns";
  }
  // The patterns in the file; none if there is no file, or it was written with another
  // `park_pattern_after`, so that patterns are tried again. Ignores an incomplete last line.
  // Errors: kIo; kCorrupt if it is not such a file.
  static Result<std::vector<std::string>> read(const std::filesystem::path& state_dir,
                                               std::uint32_t park_pattern_after);

  // Continues the file of the last run, or replaces one that does not count. Errors: those of
  // read(), kNoSpace.
  static Result<std::unique_ptr<ParkedPatterns>> open(const std::filesystem::path& state_dir,
                                                      bool resumed,
                                                      std::uint32_t park_pattern_after);

  // The patterns parked by earlier runs.
  const std::vector<std::string>& before() const { return before_; }
  // Thread-safe. Errors: kIo, kNoSpace.
  Result<void> add(std::string_view pattern) TRAWL_EXCLUDES(mutex_);

 private:
  ParkedPatterns(std::string path, std::string text, std::vector<std::string> before)
      : before_(std::move(before)), path_(std::move(path)), text_(std::move(text)) {}
  Result<void> begin() TRAWL_REQUIRES(mutex_);

  const std::vector<std::string> before_;
  const std::string path_;
  Mutex mutex_;
  std::string text_ TRAWL_GUARDED_BY(mutex_);  // what the file begins with
  std::optional<OutputFile> file_ TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
