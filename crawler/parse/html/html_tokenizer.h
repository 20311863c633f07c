// HtmlTokenizer: splits a page into tokens by the rules of the HTML Standard
// (https://html.spec.whatwg.org/multipage/parsing.html#tokenization), as views into the page.
//
// Tokens are raw: names keep their case, character references are not decoded (see
// character_references.h), NULs and line ends are unchanged. Errors in a page are not reported:
// every page has tokens.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "crawler/parse/html/tag_filter.h"

namespace trawl {

struct TokenizerKernel;

enum class TokenKind : std::uint8_t {
  kText,   // with character references in data and RCDATA; text may be split into several tokens
  kCdata,  // text of a CDATA section, which has no character references
  kStartTag,
  kEndTag,
  kComment,
  kDoctype,  // text() is the part between "<!doctype" and '>'
  kEnd,      // returned again at every further call
};

// How the tokenizer reads the content of an element: the standard's tokenizer states of these
// names.
enum class ContentModel : std::uint8_t { kData, kRcdata, kRawtext, kScriptData, kPlaintext };

// Offsets into the page. An attribute without a value has an empty value. A tag has all its
// attributes, including repeated ones, of which the first counts; names are compared ignoring case.
// Of more than 262,144 attributes, only the first ones and the last are kept.
struct RawAttribute {
  std::uint32_t name;
  std::uint32_t name_end;
  std::uint32_t value;
  std::uint32_t value_end;
};

// A buffer for attributes, reused from tag to tag.
class AttributeBuffer {
 public:
  void clear() noexcept { size_ = 0; }
  // Requires room().
  void push_back(const RawAttribute& attribute) noexcept {
    assert(has_room());
    begin_[size_++] = attribute;
  }
  bool empty() const noexcept { return size_ == 0; }
  const RawAttribute& back() const noexcept {
    assert(!empty());
    return begin_[size_ - 1];
  }
  bool has_room() const noexcept { return size_ < capacity_; }
  // Makes room for one more attribute; beyond the limit, by dropping the last.
  void make_room();
  // Frees the memory of an exceptionally large tag.
  void shrink();
  std::span<const RawAttribute> view() const noexcept { return {begin_.get(), size_}; }

 private:
  std::unique_ptr<RawAttribute[]> begin_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

// The position of a tokenizer and its last token. All pointers are into the page.
struct TokenizerState {
  const char* begin = nullptr;
  const char* end = nullptr;
  const char* position = nullptr;  // start of the next token

  const char* token = nullptr;
  const char* text = nullptr;  // or a tag's name
  const char* text_end = nullptr;
  AttributeBuffer attributes;
  bool self_closing = false;

  ContentModel model = ContentModel::kData;
  bool cdata_allowed = false;
  std::string_view end_tag;
};

class HtmlTokenizer {
 public:
  // Reads at most the first 4 GiB of `page`, which must outlive the tokenizer. UTF-8 or other
  // bytes: only ASCII has a meaning.
  explicit HtmlTokenizer(std::string_view page = {});
  // Uses a given kernel; all give the same tokens (see tokenizer_kernel.h).
  HtmlTokenizer(std::string_view page, const TokenizerKernel& kernel);
  // Starts a new page; keeps the buffers.
  void reset(std::string_view page);

  TokenKind next();
  // Returns the next start tag, end tag, or kEnd, and skips all else. Faster than next().
  TokenKind next_tag() { return next_tag(kAllTags); }
  // Skips tags that do not pass `wanted`, too.
  TokenKind next_tag(const TagFilter& wanted) { return next_tag_(state_, wanted); }

  // The following describe the last token, and are valid until the next. Start of the token in the
  // page.
  std::size_t offset() const noexcept {
    return static_cast<std::size_t>(state_.token - state_.begin);
  }
  // End of the token in the page.
  std::size_t end_offset() const noexcept {
    return static_cast<std::size_t>(state_.position - state_.begin);
  }
  // For kText, kCdata, kComment and kDoctype.
  std::string_view text() const noexcept { return {state_.text, state_.text_end}; }
  // For tags.
  std::string_view tag_name() const noexcept { return {state_.text, state_.text_end}; }
  std::span<const RawAttribute> attributes() const noexcept { return state_.attributes.view(); }
  bool self_closing() const noexcept { return state_.self_closing; }
  std::string_view name_of(const RawAttribute& attribute) const noexcept {
    assert(attribute.name <= attribute.name_end && attribute.name_end <= page_size());
    return {state_.begin + attribute.name, state_.begin + attribute.name_end};
  }
  std::string_view value_of(const RawAttribute& attribute) const noexcept {
    assert(attribute.value <= attribute.value_end && attribute.value_end <= page_size());
    return {state_.begin + attribute.value, state_.begin + attribute.value_end};
  }

  // Sets the content model from here on. Except for kData and kPlaintext, it ends with the end tag
  // named `end_tag` (lower case), which is returned as kEndTag. With an empty name it does not end.
  // The view must stay valid until then.
  void set_content(ContentModel model, std::string_view end_tag) noexcept {
    state_.model = model;
    state_.end_tag = end_tag;
  }
  // Whether "<![CDATA[" begins a CDATA section (in SVG and MathML) or a comment.
  void set_cdata(bool allowed) noexcept { state_.cdata_allowed = allowed; }

 private:
  static constexpr TagFilter kAllTags = TagFilter::all();

  TokenKind next_in_data();
  std::size_t page_size() const noexcept {
    return static_cast<std::size_t>(state_.end - state_.begin);
  }

  TokenizerState state_;
  TokenKind (*next_tag_)(TokenizerState&, const TagFilter&);
  TokenKind (*read_tag_)(TokenizerState&);
};

}  // namespace trawl
