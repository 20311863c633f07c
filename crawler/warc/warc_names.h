// The names that a WARC file and its index go by, and how a finished file gets its own.
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
  std::string damaged;  // STEM.damaged: what was cut off, where whole records follow the damage
};

// Letters, digits, '.', '_' and '-', not beginning with '.'; 1 to 100 of them.
Result<void> check_warc_prefix(std::string_view prefix);

// The name of a WARC file of this prefix, of its index, or of what is made on the way to these.
bool is_warc_name(std::string_view name, std::string_view prefix);

std::string warc_stem(std::string_view prefix, std::chrono::system_clock::time_point time,
                      std::uint32_t serial);

// The stems of the prefix's files that are open, in order of their names.
Result<std::vector<std::string>> open_warc_stems(const std::filesystem::path& directory,
                                                 std::string_view prefix);
// Removes what a crash while a file was closed may have left: an index in the making, and lines of
// files that are closed.
Result<void> remove_leftovers(const std::filesystem::path& directory, std::string_view prefix);

// Makes a file that is whole and synced a closed one: sorts its index if it has one, and renames
// both. May be called again if it failed or was interrupted.
Result<void> publish_warc(const WarcNames& names, bool has_index);

}  // namespace trawl
