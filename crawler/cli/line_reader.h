// LineReader: the lines of several files as keys, many at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

#include "base/file_io.h"

namespace trawl::cli {

inline constexpr std::string_view kStandardInput = "-";  // as a file name

// Reads one file after the other. "-" is standard input, which is also read if there are no files.
// A line ends with LF, CR LF or the end of its file; the end is not part of the line, which may
// hold any other byte. Empty lines are skipped. Memory is 256 KiB, or what the longest line needs.
class LineReader {
 public:
  static constexpr std::size_t kMaxLineBytes = std::size_t{16} << 20;
  static constexpr std::size_t kMaxLines = 4096;

  explicit LineReader(std::vector<std::string> inputs);

  // Fails if an input is missing, unreadable or a directory. Called before the work begins.
  static Result<void> check_inputs(const std::vector<std::string>& inputs);

  // Returns the lines that are available without waiting, at least one and at most kMaxLines; none
  // at the end of the last input. They are valid until the next call. Errors: those of the system,
  // with the file's name; kInvalidArgument for a line longer than kMaxLineBytes, with "file:line".
  Result<std::span<const std::string_view>> next();

 private:
  Result<void> open_next();
  Result<void> fill();
  Result<void> take_lines();
  Result<void> take(std::size_t length);
  std::string name() const;

  const std::vector<std::string> inputs_;
  std::size_t next_input_ = 0;
  FileDescriptor file_;
  int fd_ = -1;  // file_ or standard input; -1 between inputs
  bool at_end_ = false;
  std::uint64_t line_number_ = 0;  // number of the last line taken, within its file

  // Bytes read but not yet taken are in [begin_, end_); no line ends before scanned_.
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t scanned_ = 0;
  std::size_t end_ = 0;
  std::vector<std::string_view> lines_;
};

}  // namespace trawl::cli
