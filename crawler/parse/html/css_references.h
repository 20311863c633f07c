// CssReferences: what a style sheet loads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace trawl {

enum class CssSource : std::uint8_t {
  kStyleSheet,    // the text of a <style>
  kDeclarations,  // a style attribute, where @import means nothing
};

// Finds the URLs of url() and @import by the tokenization of CSS Syntax Level 3
// (https://www.w3.org/TR/css-syntax-3/#tokenization). Whether a declaration is a valid one is not
// looked at. But what stands between an at-keyword and its block or semicolon loads nothing
// (@namespace, @supports, @document), @import apart, and that only in front of all blocks. Left
// out are empty URLs and those of nothing but a fragment, which are parts of the page itself.
// Takes linear time.
class CssReferences {
 public:
  // URLs are views of `css`, or of what is added to `made` where they have escapes; both must live
  // as long as the URLs.
  CssReferences(std::string_view css, CssSource source, std::deque<std::string>& made);

  // The next URL; nothing at the end.
  std::optional<std::string_view> next();

 private:
  // What a token is to the search for URLs.
  enum class Token : std::uint8_t {
    kEnd,
    kSpace,  // or a comment
    kString,
    kUrl,
    kAtKeyword,
    kBlockStart,
    kBlockEnd,
    kSemicolon,
    kOther,
  };

  Token take_token();
  Token take_one(Token token) noexcept;
  Token take_spaces() noexcept;
  Token take_comment() noexcept;
  Token take_at_keyword();
  Token take_name();
  Token take_string();
  Token take_url();
  Token take_unquoted_url();
  Token take_bad_url() noexcept;

  void begin_value() noexcept;
  void read_name();
  void read_escape();
  void replace_here(char32_t code_point, std::size_t bytes);
  void end_value();
  std::optional<std::string_view> loaded_url();

  char peek(std::size_t ahead) const noexcept;
  bool is_at(std::string_view text) const noexcept { return css_.substr(at_).starts_with(text); }
  bool escape_follows(std::size_t ahead) const noexcept;
  bool name_follows(std::size_t ahead) const noexcept;

  const std::string_view css_;
  std::deque<std::string>& made_;
  std::size_t at_ = 0;
  bool imports_count_;
  bool in_prelude_ = false;  // behind an at-keyword
  bool after_import_ = false;

  // The value of a token: a part of css_ unless something in it had to be changed.
  std::string_view value_;
  std::string changed_value_;
  bool changed_ = false;
  std::size_t unread_ = 0;  // where the part of css_ begins that is not in changed_value_ yet
};

}  // namespace trawl
