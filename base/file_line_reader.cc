#include "base/file_line_reader.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace trawl {

namespace {

constexpr std::size_t kAtOnce = 256u << 10;

}  // namespace

Result<bool> FileLineReader::next() {
  line_offset_ = next_line_;
  too_long_ = false;
  for (std::size_t searched = 0;;) {
    const std::string_view held = std::string_view(buffer_).substr(taken_);
    const std::size_t newline = held.find('\n', searched);
    whole_ = newline != std::string_view::npos;
    if (whole_) {
      line_begin_ = taken_;
      line_size_ = newline;
      too_long_ = too_long_ || newline > max_line_;
      taken_ += newline + 1;
      break;
    }
    searched = held.size();
    if (held.size() > max_line_) {
      too_long_ = true;
      taken_ = buffer_.size();  // the rest of the line is skipped
      searched = 0;
    }
    const auto more = fill();
    if (!more) return tl::unexpected(more.error());
    if (*more) continue;
    if (taken_ == buffer_.size() && !too_long_) return false;
    line_begin_ = taken_;
    line_size_ = buffer_.size() - taken_;
    taken_ = buffer_.size();
    break;
  }
  next_line_ = read_to_ - (buffer_.size() - taken_);
  ++number_;
  return true;
}

// Returns false at the end of the part to read.
Result<bool> FileLineReader::fill() {
  assert(taken_ <= buffer_.size());
  buffer_.erase(0, std::exchange(taken_, 0));
  const std::size_t held = buffer_.size();
  const auto wanted =
      static_cast<std::size_t>(std::min<std::uint64_t>(kAtOnce, end_ - std::min(end_, read_to_)));
  buffer_.resize(held + wanted);
  const auto got = wanted == 0 ? Result<std::size_t>(0)
                               : file_->read_at(buffer_.data() + held, wanted, read_to_);
  buffer_.resize(held + got.value_or(0));
  if (!got) return tl::unexpected(got.error());
  read_to_ += *got;
  return *got > 0;
}

}  // namespace trawl
