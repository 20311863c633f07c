#include "crawler/cli/numbered_line_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <unistd.h>

namespace trawl::cli {

namespace {

constexpr std::size_t kSmallestBufferBytes = 256 << 10;
// A line that fills the buffer without an end is too long, even if its last byte is a CR.
constexpr std::size_t kMaxBufferBytes = NumberedLineReader::kMaxLineBytes + 2;

}  // namespace

NumberedLineReader::NumberedLineReader(int fd, std::string name)
    : fd_(fd), name_(std::move(name)), buffer_(kSmallestBufferBytes) {}

// Moves `scanned_` to the next line end, or to the end of the bytes read.
bool NumberedLineReader::find_end() {
  const void* found = std::memchr(buffer_.data() + scanned_, '\n', end_ - scanned_);
  scanned_ = found == nullptr
                 ? end_
                 : static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data());
  return found != nullptr;
}

bool NumberedLineReader::may_wait() {
  return !at_end_ && !find_end();
}

Result<bool> NumberedLineReader::next(Line& line) {
  line.too_long = false;
  bool whole = find_end();
  while (!whole && !at_end_) {
    if (held() == kMaxBufferBytes) {
      line.too_long = true;
      begin_ = end_;  // the rest of the line is skipped
    }
    if (auto filled = fill(); !filled) return tl::unexpected(filled.error());
    whole = find_end();
  }
  if (!whole && held() == 0 && !line.too_long) return false;
  line.number = ++line_number_;
  line.text = {buffer_.data() + begin_, scanned_ - begin_};
  if (line.text.ends_with('\r')) line.text.remove_suffix(1);
  line.too_long = line.too_long || line.text.size() > kMaxLineBytes;
  begin_ = scanned_ = std::min(scanned_ + 1, end_);
  return true;
}

Result<void> NumberedLineReader::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, held());
    end_ -= begin_;
    scanned_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(std::min(2 * buffer_.size(), kMaxBufferBytes));
  while (true) {
    const ssize_t n = ::read(fd_, buffer_.data() + end_, buffer_.size() - end_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return tl::unexpected<Error>(system_error(errno, "cannot read " + name_));
    end_ += static_cast<std::size_t>(n);
    at_end_ = n == 0;
    return {};
  }
}

}  // namespace trawl::cli
