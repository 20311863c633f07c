// NumberedLines: the lines of a stream, each with its number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

namespace trawl::cli {

// Reads a file descriptor line by line. A line ends with LF, CR LF or the end of the stream, which
// are not part of it, and may hold any other byte. One that is too long is cut short and told so,
// so that its number and those after it are right. Memory is 256 KiB, or twice the longest line.
class NumberedLines {
 public:
  static constexpr std::size_t kMaxLineBytes = std::size_t{16} << 20;

  struct Line {
    std::uint64_t number = 0;  // from 1
    std::string_view text;     // until the next call
    bool too_long = false;
  };

  // `name`: what it is called in errors.
  explicit NumberedLines(int fd, std::string name = "standard input");

  // False at the end. Errors: those of the system.
  Result<bool> next(Line& line);
  // True if the next line is not here yet, so that next() may wait for it.
  bool may_wait();

 private:
  Result<void> fill();
  bool find_end();
  std::size_t held() const { return end_ - begin_; }

  const int fd_;
  const std::string name_;
  bool at_end_ = false;
  std::uint64_t line_number_ = 0;
  // What was read and not taken is in [begin_, end_); there is no line end before scanned_.
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t scanned_ = 0;
  std::size_t end_ = 0;
};

}  // namespace trawl::cli
