#include "crawler/parse/sitemap/xml_repairer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "base/ascii.h"
#include "base/utf8.h"
#include "crawler/parse/html/character_references.h"

namespace trawl {
namespace {

constexpr std::size_t kMaxReference = 31;

constexpr bool starts_name(char c) {
  return is_ascii_alpha(c) || c == '_';
}

constexpr bool continues_name(char c) {
  return is_ascii_alphanumeric(c) || c == '_' || c == ':' || c == '-' || c == '.' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// XML has no control characters but these.
constexpr bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
}

constexpr auto kPlainText = [] {
  std::array<bool, 256> plain{};
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const char c = static_cast<char>(i);
    plain[i] = !is_control(c) && c != '<' && c != '&' && c != '>';
  }
  return plain;
}();

bool ends_with(std::uint64_t window, std::string_view terminator) {
  for (std::size_t i = terminator.size(); i-- > 0; window >>= 8) {
    if (static_cast<char>(window & 0xFF) != terminator[i]) return false;
  }
  return true;
}

// The character of "#38" or "#x26"; none if it is not a number, U+FFFD if XML forbids the
// character.
NamedCharacters numbered_character(std::string_view name) {
  name.remove_prefix(1);
  const bool hex = name.starts_with('x') || name.starts_with('X');
  if (hex) name.remove_prefix(1);
  std::uint64_t code = 0;
  const auto [end, error] =
      std::from_chars(name.data(), name.data() + name.size(), code, hex ? 16 : 10);
  if (end != name.data() + name.size() || name.empty()) return {};
  const bool character = error == std::errc() && code <= 0x10FFFF &&
                         (code >= 0x20 || code == '\t' || code == '\n' || code == '\r') &&
                         (code < 0xD800 || code > 0xDFFF) && code != 0xFFFE && code != 0xFFFF;
  return {.first = character ? static_cast<char32_t>(code) : kReplacementCharacter};
}

// Escapes the character if it could be taken for markup.
void put_character(char32_t character, std::string& out) {
  if (character > 0x7F) {
    append_utf8(character, out);
  } else {
    out += "&#" + std::to_string(static_cast<std::uint32_t>(character)) + ';';
  }
}

}  // namespace

void XmlRepairer::repair(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (state_ == State::kText && seen_tag_ && !after_return_) {
      i += copy_plain(text.substr(i), out);
      if (i == text.size()) return;
    }
    char c = text[i];
    const bool second_of_pair = c == '\n' && after_return_;
    after_return_ = c == '\r';
    if (second_of_pair) continue;
    if (c == '\r') c = '\n';
    while (!step(c, out)) {
    }
    if (c == '\n') ++line_;
  }
}

void XmlRepairer::finish(std::string& out) {
  if (state_ != State::kReference) return;
  while (!step(' ', out)) {
  }
}

std::size_t XmlRepairer::copy_plain(std::string_view text, std::string& out) {
  std::size_t end = 0;
  while (end < text.size() && kPlainText[static_cast<unsigned char>(text[end])]) {
    line_ += text[end] == '\n' ? 1 : 0;
    ++end;
  }
  out.append(text.substr(0, end));
  return end;
}

bool XmlRepairer::step(char c, std::string& out) {
  switch (state_) {
    case State::kText:
      return in_text(c, out);
    case State::kMarkup:
      return behind_less_than(c, out);
    case State::kBang:
      return behind_bang(c);
    case State::kTag:
      return in_tag(c, out);
    case State::kQuoted:
      return in_quotes(c, out);
    case State::kSkippedTag:
      return in_skipped_tag(c, out);
    case State::kEndTag:
      return in_end_tag(c, out);
    case State::kReference:
      return in_reference(c, out);
    case State::kCdata:
      in_cdata(c, out);
      return true;
    case State::kComment:
    case State::kInstruction:
    case State::kDeclaration:
    case State::kDoctype:
      break;
  }
  // Line ends are kept even in parts that are left out.
  if (c == '\n') out += c;
  if (state_ == State::kDoctype) {
    in_doctype(c);
    return true;
  }
  const std::string_view terminator = state_ == State::kComment       ? "-->"
                                      : state_ == State::kInstruction ? "?>"
                                                                      : ">";
  if (left_out_ends(c, terminator)) state_ = State::kText;
  return true;
}

bool XmlRepairer::left_out_ends(char c, std::string_view terminator) {
  window_ = window_ << 8 | static_cast<unsigned char>(c);
  return ends_with(window_, terminator);
}

void XmlRepairer::put_text(char c, std::string& out) {
  if ((!seen_tag_ && c != '\n') || is_control(c)) return;
  if (c == '<') {
    out += "&lt;";
  } else if (c == '>') {
    out += "&gt;";
  } else if (c == '&') {
    out += "&amp;";
  } else {
    out += c;
  }
}

void XmlRepairer::note_repaired() {
  if (!repaired_tags_) repaired_line_ = line_;
  repaired_tags_ = true;
}

bool XmlRepairer::in_text(char c, std::string& out) {
  if (c == '<') {
    state_ = State::kMarkup;
  } else if (c == '&' && seen_tag_) {
    begin_reference(State::kText);
  } else {
    put_text(c, out);
  }
  return true;
}

bool XmlRepairer::behind_less_than(char c, std::string& out) {
  window_ = 0;
  if (c == '!') {
    state_ = State::kBang;
    held_.clear();
    return true;
  }
  if (c == '?') {
    state_ = State::kInstruction;
    return true;
  }
  if (c == '/') {
    state_ = State::kEndTag;
    held_.clear();
    in_name_ = true;
    return true;
  }
  if (starts_name(c)) {
    out += '<';
    out += c;
    state_ = State::kTag;
    seen_tag_ = true;
    length_ = 2;
    attributes_ = 0;
    name_ = c;
    in_name_ = true;
    last_in_tag_ = c;
    return true;
  }
  put_text('<', out);
  state_ = State::kText;
  return false;
}

bool XmlRepairer::behind_bang(char c) {
  held_ += ascii_lower(c);
  length_ = 0;
  if (held_ == "--") {
    state_ = State::kComment;
  } else if (held_ == "[cdata[") {
    state_ = State::kCdata;
  } else if (held_ == "doctype") {
    state_ = State::kDoctype;
    quote_ = 0;
    subset_ = doctype_comment_ = false;
  } else if (!std::string_view("--").starts_with(held_) &&
             !std::string_view("[cdata[").starts_with(held_) &&
             !std::string_view("doctype").starts_with(held_)) {
    state_ = State::kDeclaration;
    return false;
  }
  return true;
}

bool XmlRepairer::in_tag(char c, std::string& out) {
  if (c == '<') {
    note_repaired();
    end_start_tag(">", out);
    return false;
  }
  if (c == '>') {
    end_start_tag(">", out);
    return true;
  }
  if (is_control(c) || c == '&') return true;
  in_name_ = in_name_ && continues_name(c);
  if (in_name_) name_ += c;
  if (++length_ > kMaxTag || name_.size() > kMaxName) {
    if (in_name_) name_.pop_back();
    note_repaired();
    state_ = State::kSkippedTag;
    return false;
  }
  if (c == '"' || c == '\'') {
    // A quote that does not begin a value is dropped.
    if (last_in_tag_ != '=') return true;
    quote_ = c;
    state_ = State::kQuoted;
  }
  out += c;
  if (c == '=' && ++attributes_ > kMaxAttributes) {
    out += "\"\" ";
    note_repaired();
    state_ = State::kSkippedTag;
  }
  if (c != ' ' && c != '\n' && c != '\t') last_in_tag_ = c;
  return true;
}

bool XmlRepairer::in_quotes(char c, std::string& out) {
  if (c == quote_) {
    // The space separates attributes without white space between them.
    out += c;
    out += ' ';
    state_ = State::kTag;
    last_in_tag_ = c;
    return true;
  }
  if (c == '<') {
    out += quote_;
    state_ = State::kTag;
    return false;
  }
  if (++length_ > kMaxTag) {
    out += quote_;
    out += ' ';
    note_repaired();
    state_ = State::kSkippedTag;
    return false;
  }
  if (c == '&') {
    begin_reference(State::kQuoted);
  } else if (!is_control(c)) {
    out += c;
  }
  return true;
}

bool XmlRepairer::in_skipped_tag(char c, std::string& out) {
  if (c == '<' || c == '>') {
    end_start_tag(c == '>' && last_in_tag_ == '/' ? "/>" : ">", out);
    return c == '>';
  }
  if (c == '\n') out += c;
  if (c != ' ' && c != '\n' && c != '\t') last_in_tag_ = c;
  return true;
}

void XmlRepairer::end_start_tag(std::string_view with, std::string& out) {
  out += with;
  if (last_in_tag_ != '/') open_.push(name_);
  state_ = State::kText;
}

bool XmlRepairer::in_end_tag(char c, std::string& out) {
  if (c == '>' || c == '<') {
    close_element(out);
    state_ = State::kText;
    return c == '>';
  }
  in_name_ = in_name_ && continues_name(c);
  if (in_name_ && held_.size() < kMaxName) held_ += c;
  if (c == '\n') out += c;
  return true;
}

void XmlRepairer::close_element(std::string& out) {
  const auto within = open_.within(held_);
  if (!within || *within > 0) note_repaired();
  if (!within) return;
  for (std::size_t i = 0; i <= *within; ++i) {
    out += "</";
    out += open_.top();
    out += '>';
    open_.pop();
  }
}

void XmlRepairer::begin_reference(State back) {
  reference_back_ = back;
  state_ = State::kReference;
  held_.clear();
}

bool XmlRepairer::in_reference(char c, std::string& out) {
  if (c == ';' && !held_.empty()) {
    end_reference(out);
    state_ = reference_back_;
    return true;
  }
  if (held_.size() < kMaxReference && (is_ascii_alphanumeric(c) || (c == '#' && held_.empty()))) {
    held_ += c;
    ++length_;
    return true;
  }
  out += "&amp;";
  out += held_;
  state_ = reference_back_;
  return false;
}

void XmlRepairer::end_reference(std::string& out) {
  constexpr std::string_view kOfXml[] = {"amp", "lt", "gt", "quot", "apos"};
  if (std::find(std::begin(kOfXml), std::end(kOfXml), held_) != std::end(kOfXml)) {
    out += '&';
    out += held_;
    out += ';';
    return;
  }
  const NamedCharacters characters =
      held_.front() == '#' ? numbered_character(held_) : find_named_characters(held_);
  if (characters.first == 0) {
    out += "&amp;" + held_ + ';';
    return;
  }
  put_character(characters.first, out);
  if (characters.second != 0) put_character(characters.second, out);
}

// Up to two brackets (length_ of them) are held back, since they may begin the final "]]>".
void XmlRepairer::in_cdata(char c, std::string& out) {
  if (c == ']' && length_ < 2) {
    ++length_;
    return;
  }
  if (c == '>' && length_ == 2) {
    state_ = State::kText;
    return;
  }
  if (c == ']') {
    put_text(c, out);
    return;
  }
  for (; length_ > 0; --length_)
    put_text(']', out);
  put_text(c, out);
}

void XmlRepairer::in_doctype(char c) {
  if (++length_ > kMaxDoctype) {
    note_repaired();
    state_ = State::kText;
    return;
  }
  const bool comment_ends = left_out_ends(c, "-->");
  if (doctype_comment_) {
    doctype_comment_ = !comment_ends;
  } else if (quote_ != 0) {
    if (c == quote_) quote_ = 0;
  } else if (ends_with(window_, "<!--")) {
    doctype_comment_ = true;
    window_ = 0;
  } else if (c == '"' || c == '\'') {
    quote_ = c;
  } else if (c == '[' || c == ']') {
    subset_ = c == '[';
  } else if (c == '>' && !subset_) {
    state_ = State::kText;
  } else if (ends_with(window_, "<!ENTITY")) {
    declares_entities_ = true;
  }
}

}  // namespace trawl
