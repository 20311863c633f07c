// CssReferences: finds the URLs that a style sheet loads, and what for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace trawl {

enum class CssSource : std::uint8_t {
  kStyleSheet,    // a file, or the text of a <style>
  kDeclarations,  // a style attribute, where @import is not allowed
};

// What a style sheet loads a URL for.
enum class CssUse : std::uint8_t {
  kImport,  // @import: another style sheet
  kFont,    // in @font-face
  kImage,   // everything else: backgrounds, cursors, masks, filters
};
// "import", "font", "image".
constexpr std::string_view to_string(CssUse use) noexcept {
  return use == CssUse::kImport ? "import" : use == CssUse::kFont ? "font" : "image";
}

struct CssReference {
  std::string_view url;
  CssUse use = CssUse::kImage;
};

// Finds the URLs of url(), @import and image-set() by the tokenization of CSS Syntax Level 3
// (https://www.w3.org/TR/css-syntax-3/#tokenization). Does not check whether declarations are
// valid. URLs between an at-keyword and its block or semicolon are not loaded (@namespace,
// @supports, @document), except in @import before all blocks. Leaves out empty URLs, and URLs that
// are only a fragment, which refer to the page itself. Takes linear time.
class CssReferences {
 public:
  // URLs are views of `css` or, if they have escapes, of strings added to `made`; both must outlive
  // the URLs.
  CssReferences(std::string_view css, CssSource source, std::deque<std::string>& made);

  // The next reference; nothing at the end.
  std::optional<CssReference> next();

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

  void skip_plain_text() noexcept;
  Token take_token();
  Token take_one(Token token) noexcept;
  Token take_spaces() noexcept;
  Token take_comment() noexcept;
  Token take_at_keyword();
  Token take_name();
  Token take_function(std::string_view name);
  Token take_string();
  Token take_url();
  Token take_unquoted_url();
  Token take_bad_url() noexcept;
  void close_parenthesis() noexcept;
  void end_prelude() noexcept;
  std::optional<CssReference> reference(Token token, bool imported);

  void begin_value() noexcept;
  void read_name();
  void read_escape();
  void replace_here(char32_t code_point, std::size_t bytes);
  void end_value();
  bool is_loaded() const noexcept;
  std::string_view kept_value();

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
  bool before_font_face_ = false;  // in the prelude of @font-face
  bool in_font_face_ = false;
  std::size_t open_ = 0;       // parentheses, in this declaration
  std::size_t image_set_ = 0;  // value of open_ inside the innermost image-set(), 0 outside

  // The value of a token: a part of css_, or changed_value_ if it has escapes.
  std::string_view value_;
  std::string changed_value_;
  bool changed_ = false;
  std::size_t unread_ = 0;  // start of the part of css_ not yet copied to changed_value_
};

}  // namespace trawl
