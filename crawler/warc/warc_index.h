// each_index_line: makes the index of a WARC file again.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "trawl/result.h"

#include "base/file_io.h"

namespace trawl {

// Calls `use` with the line of each record that is indexed, without its end, in the order of the
// records. `name`: of the file, in the lines. Only for files whose records are gzip members.
// Errors: those of `use`; kCorrupt if a record is damaged.
Result<void> each_index_line(const InputFile& warc, const std::string& name,
                             const std::function<Result<void>(std::string_view)>& use);

}  // namespace trawl
