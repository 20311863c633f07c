// write_wacz: packages the WARC files of a crawl.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "trawl/result.h"

namespace trawl {

struct WaczSource {
  std::filesystem::path directory;  // with the WARC files, their indexes and pages.jsonl
  std::string title = {};
  std::string description = {};  // Markdown; empty: left out
  std::string main_page = {};    // URL; empty: left out
};

struct WaczSummary {
  std::uint64_t warc_files = 0;
  std::uint64_t records = 0;  // in the index
  std::uint64_t pages = 0;
  std::uint64_t bytes = 0;  // of the WACZ
};

// Writes a WACZ 1.1.1 file (https://specs.webrecorder.net/wacz/1.1.1/) of the closed WARC files. It
// replaces a file `to` when it is whole and on the disk; until then there are only temporary files
// next to it. An index that is missing is made again from its WARC file. Errors: kNotFound if there
// are no closed WARC files; those of the files; kCorrupt if a file ends too soon.
Result<WaczSummary> write_wacz(const WaczSource& source, const std::string& to);

}  // namespace trawl
