// FileLineReader: reads the lines of a file, or of a part of it, one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "trawl/result.h"

#include "base/file_io.h"

namespace trawl {

// Takes 256 KiB of memory plus at most the longest line allowed. Longer lines are reported without
// their bytes. The file must outlive this object.
class FileLineReader {
 public:
  static constexpr std::uint64_t kToTheEnd = std::numeric_limits<std::uint64_t>::max();

  // Reads from `begin`, which must be the start of a line, to `end` or the end of the file.
  FileLineReader(const InputFile& file, std::size_t max_line, std::uint64_t begin = 0,
                 std::uint64_t end = kToTheEnd)
      : file_(&file), max_line_(max_line), read_to_(begin), end_(end), next_line_(begin) {}

  // Advances to the next line; returns false at the end. Errors: those of InputFile::read_at().
  Result<bool> next();

  // The current line. Its bytes without the line end (LF), valid until the next call; empty if it
  // is too long.
  std::string_view line() const {
    return std::string_view(buffer_).substr(line_begin_, too_long_ ? 0 : line_size_);
  }
  bool too_long() const { return too_long_; }
  bool whole() const { return whole_; }             // false: the file ended before the line did
  std::uint64_t number() const { return number_; }  // 1 for the first
  std::uint64_t offset() const { return line_offset_; }
  std::uint64_t next_offset() const { return next_line_; }  // after its line end

 private:
  Result<bool> fill();

  const InputFile* file_;
  std::size_t max_line_;
  std::uint64_t read_to_;  // offset of the end of buffer_
  std::uint64_t end_;
  std::string buffer_;
  std::size_t taken_ = 0;  // bytes of buffer_ that were returned or skipped

  std::size_t line_begin_ = 0;
  std::size_t line_size_ = 0;
  std::uint64_t line_offset_ = 0;
  std::uint64_t next_line_;
  std::uint64_t number_ = 0;
  bool too_long_ = false;
  bool whole_ = true;
};

}  // namespace trawl
