// The names of a WARC file and its index, open and closed, and how a finished file is closed.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

namespace trawl {

// Paths of one file. `stem` is "PREFIX-YYYYMMDDHHMMSSmmm-SERIAL".
struct WarcNames {
  WarcNames(const std::filesystem::path& directory, std::string_view stem);

  std::string directory;
  std::string file;     // the name once closed, without the directory
  std::string closed;   // STEM.warc.gz
  std::string open;     // STEM.warc.gz.open
  std::string lines;    // STEM.cdxj.open: lines of the index in the order of the records
  std::string cdxj;     // STEM.cdxj: sorted
  std::string damaged;  // STEM.damaged: what was removed, if complete records follow the damage
};

// Letters, digits, '.', '_' and '-', not beginning with '.'; 1 to 100 of them.
Result<void> check_warc_prefix(std::string_view prefix);

// Whether `name` is that of a WARC file with this prefix, of its index, or of their temporary
// files.
bool is_warc_name(std::string_view name, std::string_view prefix);

std::string warc_stem(std::string_view prefix, std::chrono::system_clock::time_point time,
                      std::uint32_t serial);

// The stems of the open files with this prefix, in order of their names.
Result<std::vector<std::string>> open_warc_stems(const std::filesystem::path& directory,
                                                 std::string_view prefix);
// The stems of all closed files there, with any prefix, in order of their names.
Result<std::vector<std::string>> closed_warc_stems(const std::filesystem::path& directory);
// Removes what a crash may have left while a file was being closed: an unfinished index, and the
// unsorted lines of closed files.
Result<void> remove_leftovers(const std::filesystem::path& directory, std::string_view prefix);

// Closes a file that is complete and synced: sorts its index if it has one, and renames both. May
// be called again if it failed or was interrupted.
Result<void> publish_warc(const WarcNames& names, bool has_index);

}  // namespace trawl
