#include "crawler/output/line_sink.h"

namespace trawl {

namespace {

// The lines of a group are appended in pieces of about this size.
constexpr std::size_t kBufferSize = 1u << 20;

}  // namespace

bool LineSink::keeps(const PageOutput&, std::string_view part) const noexcept {
  return !part.empty();
}

void LineSink::begin() {
  const OneAtATime::Use use(using_);
  size_at_begin_ = file_.size();
}

Result<void> LineSink::add(PageOutput& page, std::string_view part) {
  const OneAtATime::Use use(using_);
  if (!keeps(page, part)) return {};
  if (file_.size() == 0 && buffer_.empty()) buffer_ = header();
  if (buffer_.size() + part.size() > kBufferSize) {
    if (auto appended = append_buffer(); !appended) return appended;
  }
  // A part that fills a buffer alone is not copied.
  if (part.size() > kBufferSize) {
    if (auto appended = file_.append(part); !appended) return appended;
  } else {
    buffer_ += part;
  }
  encode_page(page, buffer_);
  return buffer_.size() < kBufferSize ? Result<void>() : append_buffer();
}

Result<void> LineSink::append_buffer() {
  auto appended = file_.append(buffer_);
  buffer_.clear();
  return appended;
}

Result<void> LineSink::flush(bool sync) {
  const OneAtATime::Use use(using_);
  auto appended = append_buffer();
  return appended && sync ? file_.sync() : appended;
}

void LineSink::take_back() noexcept {
  const OneAtATime::Use use(using_);
  buffer_.clear();
  // If this fails, the lines are in the file twice after the crawl was resumed.
  [[maybe_unused]] const auto cut = file_.cut_back(size_at_begin_);
}

}  // namespace trawl
