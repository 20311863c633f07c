// The record that begins each WARC file.
#pragma once

#include <chrono>
#include <string>

#include "crawler/warc/warc_files.h"

namespace trawl {

// A gzip member. `file` is the name of the closed file.
std::string warcinfo_member(const WarcFilesOptions& options, const std::string& file,
                            std::chrono::system_clock::time_point time);

}  // namespace trawl
