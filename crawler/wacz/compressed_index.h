// CompressedIndex: the CDXJ lines of a WACZ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "trawl/result.h"

#include "crawler/wacz/zip_writer.h"
#include "crawler/warc/gzip_member.h"

namespace trawl {

// Writes sorted lines as gzip members of kLines each into the current entry of `zip`. A reader
// finds a line by directory(), which has the key and the place of each member (ZipNum, in the form
// "cdxj-gzip-1.0" that pywb and wabac.js read).
class CompressedIndex {
 public:
  static constexpr std::size_t kLines = 3000;
  static constexpr std::string_view kName = "index.cdx.gz";

  // `zip` must outlive it.
  explicit CompressedIndex(ZipWriter& zip);
  // `line`: without its end.
  Result<void> add(std::string_view line);
  // Call once, after the last line.
  Result<void> finish();

  std::uint64_t lines() const noexcept { return lines_; }
  const std::string& directory() const noexcept { return directory_; }

 private:
  Result<void> write_member();

  ZipWriter& zip_;
  GzipCompressor compressor_;
  std::string member_;  // lines that are not written yet
  std::size_t in_member_ = 0;
  std::string compressed_;
  std::uint64_t lines_ = 0;
  std::uint64_t offset_ = 0;
  std::string directory_;
};

}  // namespace trawl
