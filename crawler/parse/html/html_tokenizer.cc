#include "crawler/parse/html/html_tokenizer.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "crawler/parse/html/tokenizer_kernel.h"
#include "crawler/parse/html/tokenizer_text.h"

namespace trawl {

namespace {

// Whether something other than text begins at `open`, a '<'.
bool begins_markup(const char* open, const char* end) {
  if (end - open < 2) return false;
  const char next = open[1];
  return is_ascii_alpha(next) || next == '!' || next == '?' || (next == '/' && end - open > 2);
}

// Whether markup that begins at `open` is a tag.
bool begins_tag(const char* open) {
  assert(*open == '<');
  return is_ascii_alpha(open[open[1] == '/' ? 2 : 1]);
}

}  // namespace

void AttributeBuffer::make_room() {
  assert(!has_room());
  constexpr std::size_t kMostKept = 1u << 18;
  if (capacity_ == kMostKept) {
    --size_;
    return;
  }
  const std::size_t capacity = std::max<std::size_t>(2 * capacity_, 16);
  auto bigger = std::make_unique_for_overwrite<RawAttribute[]>(capacity);
  std::copy_n(begin_.get(), size_, bigger.get());
  begin_ = std::move(bigger);
  capacity_ = capacity;
}

void AttributeBuffer::shrink() {
  constexpr std::size_t kOrdinary = 4096;
  size_ = 0;
  if (capacity_ <= kOrdinary) return;
  begin_.reset();
  capacity_ = 0;
}

HtmlTokenizer::HtmlTokenizer(std::string_view page)
    : HtmlTokenizer(page, tokenizer_kernels().back()) {}

HtmlTokenizer::HtmlTokenizer(std::string_view page, const TokenizerKernel& kernel)
    : next_tag_(kernel.next_tag), read_tag_(kernel.read_tag) {
  reset(page);
}

void HtmlTokenizer::reset(std::string_view page) {
  page = page.substr(0, std::numeric_limits<std::uint32_t>::max());
  if (page.data() == nullptr) page = "";
  state_.begin = page.data();
  state_.end = page.data() + page.size();
  state_.position = state_.begin;
  state_.token = state_.begin;
  state_.text = state_.begin;
  state_.text_end = state_.begin;
  state_.attributes.shrink();
  state_.self_closing = false;
  state_.model = ContentModel::kData;
  state_.cdata_allowed = false;
  state_.end_tag = {};
}

TokenKind HtmlTokenizer::next() {
  state_.attributes.clear();
  state_.self_closing = false;
  if (state_.model == ContentModel::kData) return next_in_data();
  const char* const start = state_.position;
  state_.position = leave_raw_text(state_);
  if (state_.position == start) return next_in_data();
  state_.token = start;
  state_.text = start;
  state_.text_end = state_.position;
  return TokenKind::kText;
}

TokenKind HtmlTokenizer::next_in_data() {
  const char* const end = state_.end;
  for (;;) {
    const char* const start = state_.position;
    const char* open = find_byte(start, end, '<');
    while (open != end && !begins_markup(open, end))
      open = find_byte(open + 1, end, '<');
    if (open != start) {
      state_.token = start;
      state_.text = start;
      state_.text_end = open;
      state_.position = open;
      return TokenKind::kText;
    }
    if (open == end) return end_of_page(state_);
    if (begins_tag(open)) {
      const TokenKind kind = read_tag_(state_);
      return kind == TokenKind::kEnd ? end_of_page(state_) : kind;
    }
    const TokenKind kind = read_declaration(state_);
    if (kind != TokenKind::kText) return kind;
  }
}

}  // namespace trawl
