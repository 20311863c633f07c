// LogReplay: reads the log's segments after a start.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "trawl/result.h"

#include "crawler/resp/log_record.h"

namespace trawl::resp {

// What a replay found.
struct LogReplay {
  std::uint64_t next_segment = 0;   // above that of every file
  std::uint64_t next_sequence = 0;  // after the last record
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;  // of the segments
  std::uint64_t torn_bytes =
      0;  // cut off the end of the last segment: a write that was not finished
};

// The numbers of the segments in the directory from `first` on, in ascending order. Errors: kIo.
Result<std::vector<std::uint64_t>> log_segments(const std::filesystem::path& directory,
                                                std::uint64_t first);

// Passes the records from number `sequence` on, in segments from `first` on, to `use`, in order.
// A frame that is not whole at the end of the last segment was never acknowledged as durable: it is
// cut off the file. Errors: kCorrupt, with file and offset, for anything else that is not a log's;
// kUnsupportedVersion, kIo; those of `use`.
Result<LogReplay> replay_log(const std::filesystem::path& directory, std::uint64_t first,
                             std::uint64_t sequence,
                             const std::function<Result<void>(const LogRecord&)>& use);

}  // namespace trawl::resp
