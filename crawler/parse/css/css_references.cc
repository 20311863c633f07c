// Reads tokens, not rules: a URL counts by the few tokens before it (an at-keyword, a function), so
// nothing needs to be nested or remembered, and damaged sheets give the URLs that they have.
//
// Nearly all of a sheet is names, numbers and punctuation that cannot begin or end anything of
// interest. skip_plain_text() passes over them byte by byte. It stops at "(", and whether that
// ends the name of a function is decided by the bytes before it: they are the whole name, since
// names with escapes have been taken at their backslash.
#include "crawler/parse/css/css_references.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/utf8.h"

namespace trawl {
namespace {

constexpr AsciiSet kNameAscii =
    AsciiSet().with_range('a', 'z').with_range('A', 'Z').with_range('0', '9').with("_-").with_range(
        '\0', '\0');
// Bytes that an unquoted URL cannot contain: "(\"'" and non-printable code points.
constexpr AsciiSet kBadInUrl =
    AsciiSet().with("(\"'\x0B\x7F").with_range(0x01, 0x08).with_range(0x0E, 0x1F);
constexpr AsciiSet kEndsPlainUrl = kBadInUrl.with(") \t\n\r\f\\").with_range('\0', '\0');
constexpr AsciiSet kEndsPlainString = AsciiSet().with("\"'\n\r\f\\").with_range('\0', '\0');
// Where skip_plain_text() stops: always, and where the ends of blocks and declarations count.
constexpr AsciiSet kStarts = AsciiSet().with("\"'(@\\/<");
constexpr AsciiSet kStartsAndEnds = kStarts.with("){};");

bool is_name_byte(char byte) noexcept {
  return !is_ascii(byte) || kNameAscii.contains(byte);
}

bool is_newline(char byte) noexcept {
  return byte == '\n' || byte == '\r' || byte == '\f';
}

}  // namespace

CssReferences::CssReferences(std::string_view css, CssSource source, std::deque<std::string>& made)
    : css_(css), made_(made), imports_count_(source == CssSource::kStyleSheet) {
  // Most style attributes contain no URL.
  if (source == CssSource::kDeclarations && css.find('(') == std::string_view::npos) {
    at_ = css.size();
  }
}

std::optional<CssReference> CssReferences::next() {
  while (true) {
    if (!after_import_) skip_plain_text();
    const Token token = take_token();
    const bool imported = after_import_;
    if (token != Token::kSpace) after_import_ = false;
    switch (token) {
      case Token::kEnd:
        return std::nullopt;
      case Token::kAtKeyword:
        in_prelude_ = true;
        after_import_ = equal_in_any_case(value_, "import");
        before_font_face_ = equal_in_any_case(value_, "font-face");
        break;
      case Token::kBlockStart:
        imports_count_ = false;
        in_font_face_ = before_font_face_;
        end_prelude();
        break;
      case Token::kBlockEnd:
        in_font_face_ = false;
        end_prelude();
        break;
      case Token::kSemicolon:
        end_prelude();
        break;
      case Token::kString:
      case Token::kUrl:
        if (const auto found = reference(token, imported)) return found;
        break;
      case Token::kSpace:
      case Token::kOther:
        break;
    }
  }
}

// The end of a declaration or of an at-rule's prelude. Parentheses left open end here, too: a
// browser would go on to the end of the sheet and load nothing of it.
void CssReferences::end_prelude() noexcept {
  in_prelude_ = false;
  before_font_face_ = false;
  open_ = 0;
  image_set_ = 0;
}

// What `token` with value_ loads, if anything.
std::optional<CssReference> CssReferences::reference(Token token, bool imported) {
  if (imported) {
    if (!imports_count_ || !is_loaded()) return std::nullopt;
    return CssReference{kept_value(), CssUse::kImport};
  }
  const bool in_image_set = image_set_ != 0 && open_ == image_set_;
  if (in_prelude_ || (token == Token::kString && !in_image_set) || !is_loaded())
    return std::nullopt;
  return CssReference{kept_value(), in_font_face_ ? CssUse::kFont : CssUse::kImage};
}

// Goes on to the next byte that may begin a token that counts. A name with an escape in it is
// taken from its beginning.
void CssReferences::skip_plain_text() noexcept {
  const bool ends_count = imports_count_ || in_prelude_ || in_font_face_ || open_ != 0;
  const AsciiSet& stops = ends_count ? kStartsAndEnds : kStarts;
  const std::size_t begin = at_;
  while (at_ < css_.size() && !stops.contains(css_[at_]))
    ++at_;
  if (at_ == css_.size() || (css_[at_] != '(' && css_[at_] != '\\')) return;
  std::size_t name = at_;
  while (name > begin && is_name_byte(css_[name - 1]))
    --name;
  if (name > begin && css_[name - 1] == '#') --name;  // not a function
  at_ = name;
}

CssReferences::Token CssReferences::take_token() {
  if (at_ >= css_.size()) return Token::kEnd;
  switch (css_[at_]) {
    case ' ':
    case '\t':
    case '\n':
    case '\r':
    case '\f':
      return take_spaces();
    case '/':
      return peek(1) == '*' ? take_comment() : take_one(Token::kOther);
    case '(':
      ++open_;
      return take_one(Token::kOther);
    case ')':
      close_parenthesis();
      return take_one(Token::kOther);
    case '"':
    case '\'':
      return take_string();
    case '#':  // the name that follows is not a function
      ++at_;
      begin_value();
      read_name();
      return Token::kOther;
    case '@':
      return take_at_keyword();
    case '{':
      return take_one(Token::kBlockStart);
    case '}':
      return take_one(Token::kBlockEnd);
    case ';':
      return take_one(Token::kSemicolon);
    case '<':
      if (!is_at("<!--")) return take_one(Token::kOther);
      at_ += 4;
      return Token::kSpace;
    case '-':
      if (!is_at("-->")) return take_name();
      at_ += 3;
      return Token::kSpace;
    case '\\':
      return escape_follows(0) ? take_name() : take_one(Token::kOther);
    default:
      return is_name_byte(css_[at_]) ? take_name() : take_one(Token::kOther);
  }
}

CssReferences::Token CssReferences::take_one(Token token) noexcept {
  ++at_;
  return token;
}

CssReferences::Token CssReferences::take_spaces() noexcept {
  while (at_ < css_.size() && is_html_white_space(css_[at_]))
    ++at_;
  return Token::kSpace;
}

CssReferences::Token CssReferences::take_comment() noexcept {
  const std::size_t end = css_.find("*/", at_ + 2);
  at_ = end == std::string_view::npos ? css_.size() : end + 2;
  return Token::kSpace;
}

CssReferences::Token CssReferences::take_at_keyword() {
  ++at_;
  if (!name_follows(0)) return Token::kOther;
  begin_value();
  read_name();
  end_value();
  return Token::kAtKeyword;
}

// Takes a name, or a number with its unit, which has the same characters but cannot be a function.
CssReferences::Token CssReferences::take_name() {
  const bool is_name = name_follows(0);
  begin_value();
  read_name();
  if (!is_name || peek(0) != '(') return Token::kOther;
  end_value();
  return take_function(value_);
}

// Takes the parenthesis after the name of a function, and all of an unquoted URL.
CssReferences::Token CssReferences::take_function(std::string_view name) {
  if (equal_in_any_case(name, "url")) return take_url();
  const bool image_set =
      equal_in_any_case(name, "image-set") || equal_in_any_case(name, "-webkit-image-set");
  ++open_;
  if (image_set && image_set_ == 0) image_set_ = open_;
  return take_one(Token::kOther);
}

void CssReferences::close_parenthesis() noexcept {
  if (open_ == 0) return;
  --open_;
  if (open_ < image_set_) image_set_ = 0;
}

CssReferences::Token CssReferences::take_string() {
  const char quote = css_[at_++];
  begin_value();
  while (true) {
    while (at_ < css_.size() && !kEndsPlainString.contains(css_[at_]))
      ++at_;
    if (at_ == css_.size() || css_[at_] == quote) break;
    const char c = css_[at_];
    if (is_newline(c)) return Token::kOther;
    if (c == '\0') {
      replace_here(kReplacementCharacter, 1);
    } else if (c != '\\') {
      ++at_;
    } else if (escape_follows(0) && at_ + 1 < css_.size()) {
      read_escape();
    } else {  // the string continues after the newline
      replace_here(0, std::min(css_.size() - at_,
                               std::size_t{peek(1) == '\r' && peek(2) == '\n' ? 3u : 2u}));
    }
  }
  end_value();
  if (at_ < css_.size()) ++at_;
  return Token::kString;
}

CssReferences::Token CssReferences::take_url() {
  ++at_;
  take_spaces();
  if (peek(0) == '"' || peek(0) == '\'') {
    ++open_;
    return take_string() == Token::kString ? Token::kUrl : Token::kOther;
  }
  return take_unquoted_url();
}

CssReferences::Token CssReferences::take_unquoted_url() {
  begin_value();
  while (true) {
    while (at_ < css_.size() && !kEndsPlainUrl.contains(css_[at_]))
      ++at_;
    if (at_ == css_.size() || css_[at_] == ')' || is_html_white_space(css_[at_])) break;
    const char c = css_[at_];
    if (c == '\0') {
      replace_here(kReplacementCharacter, 1);
    } else if (c == '\\') {
      if (!escape_follows(0)) return take_bad_url();
      read_escape();
    } else if (kBadInUrl.contains(c)) {
      return take_bad_url();
    } else {
      ++at_;
    }
  }
  end_value();
  take_spaces();
  if (at_ == css_.size()) return Token::kUrl;
  return css_[at_] == ')' ? take_one(Token::kUrl) : take_bad_url();
}

CssReferences::Token CssReferences::take_bad_url() noexcept {
  while (at_ < css_.size() && css_[at_] != ')')
    at_ += escape_follows(0) ? 2 : 1;
  at_ = std::min(at_ + 1, css_.size());
  return Token::kOther;
}

void CssReferences::begin_value() noexcept {
  unread_ = at_;
  changed_ = false;
  changed_value_.clear();
}

void CssReferences::read_name() {
  while (at_ < css_.size()) {
    if (css_[at_] == '\0') {
      replace_here(kReplacementCharacter, 1);
    } else if (is_name_byte(css_[at_])) {
      ++at_;
    } else if (escape_follows(0)) {
      read_escape();
    } else {
      return;
    }
  }
}

void CssReferences::read_escape() {
  std::size_t length = 1;
  char32_t code_point = 0;
  while (length <= 6 && at_ + length < css_.size() && hex_value(peek(length)) >= 0) {
    code_point = code_point * 16 + static_cast<char32_t>(hex_value(peek(length)));
    ++length;
  }
  if (length > 1) {
    const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
    if (code_point == 0 || surrogate || code_point > 0x10FFFF) code_point = kReplacementCharacter;
    if (peek(length) == '\r' && peek(length + 1) == '\n') ++length;
    if (at_ + length < css_.size() && is_html_white_space(peek(length))) ++length;
    return replace_here(code_point, length);
  }
  if (at_ + 1 == css_.size()) return replace_here(kReplacementCharacter, 1);
  if (peek(1) == '\0') return replace_here(kReplacementCharacter, 2);
  replace_here(0, 1);
  ++at_;  // any other character stands for itself
}

// Replaces the next `bytes` bytes of the value by `code_point`, or by nothing if it is 0.
void CssReferences::replace_here(char32_t code_point, std::size_t bytes) {
  changed_ = true;
  changed_value_ += css_.substr(unread_, at_ - unread_);
  if (code_point != 0) append_utf8(code_point, changed_value_);
  at_ += bytes;
  unread_ = at_;
}

void CssReferences::end_value() {
  value_ = css_.substr(unread_, at_ - unread_);
  if (!changed_) return;
  changed_value_ += value_;
  value_ = changed_value_;
}

// Whether the value of the token is a URL that is loaded.
bool CssReferences::is_loaded() const noexcept {
  const auto first =
      std::ranges::find_if(value_, [](char c) { return static_cast<unsigned char>(c) > ' '; });
  return first != value_.end() && *first != '#';
}

std::string_view CssReferences::kept_value() {
  return changed_ ? made_.emplace_back(changed_value_) : value_;
}

char CssReferences::peek(std::size_t ahead) const noexcept {
  return at_ + ahead < css_.size() ? css_[at_ + ahead] : '\0';
}

// A backslash at the end of the input begins an escape; one before a newline does not.
bool CssReferences::escape_follows(std::size_t ahead) const noexcept {
  return peek(ahead) == '\\' && !is_newline(peek(ahead + 1));
}

bool CssReferences::name_follows(std::size_t ahead) const noexcept {
  const auto starts = [&](std::size_t at) {
    return at_ + at < css_.size() &&
           ((is_name_byte(peek(at)) && !is_ascii_digit(peek(at)) && peek(at) != '-') ||
            escape_follows(at));
  };
  if (peek(ahead) != '-') return starts(ahead);
  return peek(ahead + 1) == '-' || starts(ahead + 1);
}

}  // namespace trawl
