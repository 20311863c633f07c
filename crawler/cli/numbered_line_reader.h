// NumberedLineReader: the lines of a stream with their numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

namespace trawl::cli {

// Reads a file descriptor line by line. A line ends with LF, CR LF or the end of the stream; the
// end is not part of the line, which may hold any other byte. A line that is too long is cut and
// marked, so that line numbers stay right. Memory is 256 KiB, or twice the longest line.
class NumberedLineReader {
 public:
  static constexpr std::size_t kMaxLineBytes = std::size_t{16} << 20;

  struct Line {
    std::uint64_t number = 0;  // from 1
    std::string_view text;     // valid until the next call
    bool too_long = false;
  };

  // `name`: the stream's name in errors.
  explicit NumberedLineReader(int fd, std::string name = "standard input");

  // Returns false at the end. Errors: those of the system.
  Result<bool> next(Line& line);
  // True if next() would have to read more, which may wait.
  bool may_wait();

 private:
  Result<void> fill();
  bool find_end();
  std::size_t held() const { return end_ - begin_; }

  const int fd_;
  const std::string name_;
  bool at_end_ = false;
  std::uint64_t line_number_ = 0;
  // Bytes read but not yet taken are in [begin_, end_); no line ends before scanned_.
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t scanned_ = 0;
  std::size_t end_ = 0;
};

}  // namespace trawl::cli
