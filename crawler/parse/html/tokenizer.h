// HtmlTokenizer: the tokens of a page, by the tokenization rules of the HTML Standard
// (https://html.spec.whatwg.org/multipage/parsing.html#tokenization), as views into the page.
//
// Tokens are raw: names are in the case they were written in, character references are not decoded
// (see character_references.h), NULs and line ends are as they came. What is wrong with a page is
// not reported: every page has tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace trawl {

struct TokenizerKernel;

enum class TokenKind : std::uint8_t {
  kText,   // in data and RCDATA with character references; text may come in several tokens
  kCdata,  // text of a CDATA section: character references mean nothing in it
  kStartTag,
  kEndTag,
  kComment,
  kDoctype,  // text() is what stands between "<!doctype" and its '>'
  kEnd,      // and again at every further call
};

// How the tokenizer reads what follows a start tag: the tokenizer's states of these names.
enum class ContentModel : std::uint8_t { kData, kRcdata, kRawtext, kScriptData, kPlaintext };

// Offsets into the page. An attribute without a value has an empty one. All attributes of the tag
// are there, also further ones of the same name: the first counts. (Names differ in case at most.)
// Of more than 262,144 the first ones are there and the last.
struct RawAttribute {
  std::uint32_t name;
  std::uint32_t name_end;
  std::uint32_t value;
  std::uint32_t value_end;
};

// The attributes of one tag after the other, in the same memory.
class AttributeBuffer {
 public:
  void clear() noexcept { size_ = 0; }
  // Does not check: there must be room().
  void push_back(const RawAttribute& attribute) noexcept { begin_[size_++] = attribute; }
  bool empty() const noexcept { return size_ == 0; }
  const RawAttribute& back() const noexcept { return begin_[size_ - 1]; }
  bool has_room() const noexcept { return size_ < capacity_; }
  // Makes room for one more; beyond the most that are kept, by forgetting the last.
  void make_room();
  // Gives back the memory that an extraordinary tag took.
  void shrink();
  std::span<const RawAttribute> view() const noexcept { return {begin_.get(), size_}; }

 private:
  std::unique_ptr<RawAttribute[]> begin_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

// Where a tokenizer is in its page, and the token it found last. All pointers are into the page.
struct TokenizerState {
  const char* begin = nullptr;
  const char* end = nullptr;
  const char* position = nullptr;  // where the next token is looked for

  const char* token = nullptr;
  const char* text = nullptr;  // or the name of a tag
  const char* text_end = nullptr;
  AttributeBuffer attributes;
  bool self_closing = false;

  ContentModel model = ContentModel::kData;
  bool cdata_allowed = false;
  std::string_view end_tag;
};

class HtmlTokenizer {
 public:
  // Pages of 4 GiB or more are read up to there. `page` must outlive the tokenizer. UTF-8, or any
  // other bytes: only ASCII means anything.
  explicit HtmlTokenizer(std::string_view page = {});
  // For a kernel of one's choice: all give the same tokens (see tokenizer_kernel.h).
  HtmlTokenizer(std::string_view page, const TokenizerKernel& kernel);
  // Starts over with another page; keeps the buffers.
  void reset(std::string_view page);

  TokenKind next();
  // The next start tag, end tag, or kEnd; passes over all else. Faster than next().
  TokenKind next_tag() { return next_tag_(state_); }

  // Of the token just returned. Valid until the next one.
  // Where it begins in the page.
  std::size_t offset() const noexcept {
    return static_cast<std::size_t>(state_.token - state_.begin);
  }
  // Where it ends.
  std::size_t end_offset() const noexcept {
    return static_cast<std::size_t>(state_.position - state_.begin);
  }
  // Of kText, kCdata, kComment, kDoctype.
  std::string_view text() const noexcept { return {state_.text, state_.text_end}; }
  // Of tags.
  std::string_view tag_name() const noexcept { return {state_.text, state_.text_end}; }
  std::span<const RawAttribute> attributes() const noexcept { return state_.attributes.view(); }
  bool self_closing() const noexcept { return state_.self_closing; }
  std::string_view name_of(const RawAttribute& attribute) const noexcept {
    return {state_.begin + attribute.name, state_.begin + attribute.name_end};
  }
  std::string_view value_of(const RawAttribute& attribute) const noexcept {
    return {state_.begin + attribute.value, state_.begin + attribute.value_end};
  }

  // Sets how the page goes on from here. Anything but kData and kPlaintext ends with the end tag of
  // the name `end_tag` (lower case), which comes as a kEndTag. The view must stay valid until then.
  void set_content(ContentModel model, std::string_view end_tag) noexcept {
    state_.model = model;
    state_.end_tag = end_tag;
  }
  // Whether "<![CDATA[" begins a CDATA section (in SVG and MathML) or a comment.
  void set_cdata(bool allowed) noexcept { state_.cdata_allowed = allowed; }

 private:
  TokenKind next_in_data();

  TokenizerState state_;
  TokenKind (*next_tag_)(TokenizerState&);
  TokenKind (*read_tag_)(TokenizerState&);
};

}  // namespace trawl
