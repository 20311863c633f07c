#include "crawler/cli/line_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace trawl::cli {

namespace {

constexpr std::size_t kFirstBufferBytes = 256 << 10;
constexpr int kPipeBytes = 1 << 20;
constexpr std::size_t kLongestLineEnd = 2;

tl::unexpected<Error> cannot_read(int errno_value, const std::string& name) {
  return tl::unexpected<Error>(system_error(errno_value, "cannot read " + name));
}

}  // namespace

LineReader::LineReader(std::vector<std::string> inputs)
    : inputs_(inputs.empty() ? std::vector<std::string>{std::string(kStandardInput)}
                             : std::move(inputs)),
      buffer_(kFirstBufferBytes) {
  lines_.reserve(kMaxLines);
}

Result<void> LineReader::check_inputs(const std::vector<std::string>& inputs) {
  for (const auto& input : inputs) {
    if (input == kStandardInput) continue;
    struct stat status;
    if (::stat(input.c_str(), &status) != 0) return cannot_read(errno, input);
    if (S_ISDIR(status.st_mode)) return cannot_read(EISDIR, input);
    if (::access(input.c_str(), R_OK) != 0) return cannot_read(errno, input);
  }
  return {};
}

Result<std::span<const std::string_view>> LineReader::next() {
  lines_.clear();
  while (true) {
    if (auto taken = take_lines(); !taken) return tl::unexpected(taken.error());
    if (!lines_.empty() || (fd_ < 0 && next_input_ == inputs_.size())) return lines_;
    const auto more = fd_ < 0 ? open_next() : fill();
    if (!more) return tl::unexpected(more.error());
  }
}

Result<void> LineReader::open_next() {
  const std::string& input = inputs_[next_input_++];
  at_end_ = false;
  line_number_ = 0;
  fd_ = STDIN_FILENO;
  if (input == kStandardInput) {
    // A larger pipe buffer saves context switches. Fails without harm if it is not a pipe.
    ::fcntl(STDIN_FILENO, F_SETPIPE_SZ, kPipeBytes);
    return {};
  }
  file_ = FileDescriptor(::open(input.c_str(), O_RDONLY | O_CLOEXEC));
  fd_ = file_.get();
  if (fd_ < 0) return cannot_read(errno, input);
  return {};
}

Result<void> LineReader::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    scanned_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size())
    buffer_.resize(std::min(2 * buffer_.size(), kMaxLineBytes + kLongestLineEnd));
  while (true) {
    const ssize_t n = ::read(fd_, buffer_.data() + end_, buffer_.size() - end_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot_read(errno, name());
    end_ += static_cast<std::size_t>(n);
    at_end_ = n == 0;
    return {};
  }
}

// Takes the complete lines of the buffer; closes an input at its end.
Result<void> LineReader::take_lines() {
  while (lines_.size() < kMaxLines && scanned_ < end_) {
    const void* found = std::memchr(buffer_.data() + scanned_, '\n', end_ - scanned_);
    if (found == nullptr) {
      scanned_ = end_;
      break;
    }
    const auto line_end =
        static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data());
    if (auto taken = take(line_end - begin_); !taken) return taken;
    begin_ = scanned_ = line_end + 1;
  }
  if (lines_.size() == kMaxLines || scanned_ < end_) return {};
  if (at_end_ && fd_ >= 0) {
    if (begin_ < end_) {
      if (auto taken = take(end_ - begin_); !taken) return taken;
    }
    begin_ = scanned_ = end_;
    fd_ = -1;
    file_ = FileDescriptor();
  } else if (end_ - begin_ == kMaxLineBytes + kLongestLineEnd) {
    return take(end_ - begin_);  // too long
  }
  return {};
}

Result<void> LineReader::take(std::size_t length) {
  ++line_number_;
  std::string_view line(buffer_.data() + begin_, length);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() > kMaxLineBytes) {
    return error(
        ErrorCode::kInvalidArgument,
        fmt::format(
            "{}:{}: the line is longer than {} MiB, the limit of a key: is this a file of lines?",
            name(), line_number_, kMaxLineBytes >> 20));
  }
  if (!line.empty()) lines_.push_back(line);
  return {};
}

std::string LineReader::name() const {
  const std::string& input = inputs_[next_input_ - 1];
  return input == kStandardInput ? "standard input" : input;
}

}  // namespace trawl::cli
