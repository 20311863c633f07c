// CssReferences: finds the URLs that a style sheet loads.
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
  kDeclarations,  // a style attribute, where @import is not allowed
};

// Finds the URLs of url() and @import by the tokenization of CSS Syntax Level 3
// (https://www.w3.org/TR/css-syntax-3/#tokenization). Does not check whether declarations are
// valid. URLs between an at-keyword and its block or semicolon are not loaded (@namespace,
// @supports, @document), except in @import before all blocks. Leaves out empty URLs, and URLs that
// are only a fragment, which refer to the page itself. Takes linear time.
class CssReferences {
 public:
  // URLs are views of `css` or, if they have escapes, of strings added to `made`; both must outlive
  // the URLs.
  CssReferences(std::string_view css, CssSource source, std::deque<std::string>& made);

  // The next URL; nothing at the end.
  std::optional<std::string_view> next();

 private:
  // Token classes for the search for URLs.
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
  bool in_prelude_ = false;  // after an at-keyword, before its block
  bool after_import_ = false;

  // The value of a token: a part of css_, or changed_value_ if it has escapes.
  std::string_view value_;
  std::string changed_value_;
  bool changed_ = false;
  std::size_t unread_ = 0;  // start of the part of css_ not yet copied to changed_value_
};

}  // namespace trawl
