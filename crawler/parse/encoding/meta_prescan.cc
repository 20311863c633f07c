#include "crawler/parse/encoding/meta_prescan.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/ascii.h"
#include "crawler/parse/encoding/encoding_info.h"

namespace trawl {

namespace {

// Bytes that end a part of a tag; a look-up table, since most bytes of a page's head are in tags.
enum : std::uint8_t { kWhiteSpace = 1, kTagEnd = 2, kSlash = 4, kEquals = 8 };

constexpr auto kByteClasses = [] {
  std::array<std::uint8_t, 256> classes{};
  for (const unsigned char c : {' ', '\t', '\n', '\f', '\r'})
    classes[c] = kWhiteSpace;
  classes['>'] = kTagEnd;
  classes['/'] = kSlash;
  classes['='] = kEquals;
  return classes;
}();

bool is_any_of(char c, unsigned wanted) {
  return (kByteClasses[static_cast<unsigned char>(c)] & wanted) != 0;
}

// An attribute of a <meta>. Views of the page, in their original case.
struct Attribute {
  std::string_view name;
  std::string_view value;
};

// A page that declares UTF-16 in readable ASCII is not UTF-16.
PageEncoding readable(PageEncoding encoding) {
  switch (encoding_info(encoding).family) {
    case EncodingFamily::kUtf16Be:
    case EncodingFamily::kUtf16Le:
      return PageEncoding::utf8();
    default:
      return encoding;
  }
}

class Prescan {
 public:
  explicit Prescan(std::string_view head) : head_(head) {}

  std::optional<PageEncoding> run() {
    while (find_tag()) {
      if (const auto encoding = look_at_tag()) return encoding;
      if (ended_) break;
      ++at_;
    }
    return std::nullopt;
  }

 private:
  bool find_tag() {
    at_ = at_ < head_.size() ? head_.find('<', at_) : std::string_view::npos;
    return at_ != std::string_view::npos;
  }

  // Leaves at_ on the last byte examined, or sets ended_.
  std::optional<PageEncoding> look_at_tag() {
    const std::string_view tag = head_.substr(at_);
    if (tag.starts_with("<!--")) {
      // The dashes of "<!--" may also be those of "-->".
      move_to(head_.find("-->", at_ + 2), 2);
    } else if (tag.size() > 5 && starts_with_in_any_case(tag, "<meta") &&
               (is_html_white_space(tag[5]) || tag[5] == '/')) {
      at_ += 6;
      return look_at_meta();
    } else if (is_tag(tag)) {
      skip_to(kWhiteSpace | kTagEnd);
      while (next_attribute()) {
      }
    } else if (tag.size() > 1 && (tag[1] == '!' || tag[1] == '/' || tag[1] == '?')) {
      move_to(head_.find('>', at_), 0);
    }
    return std::nullopt;
  }

  static bool is_tag(std::string_view tag) {
    const std::size_t letter = tag.size() > 1 && tag[1] == '/' ? 2 : 1;
    return tag.size() > letter && is_ascii_alpha(tag[letter]);
  }

  void move_to(std::size_t found, std::size_t offset) {
    if (found == std::string_view::npos) {
      ended_ = true;
    } else {
      at_ = found + offset;
    }
  }

  std::optional<PageEncoding> look_at_meta() {
    bool pragma = false;        // http-equiv="content-type"
    bool needs_pragma = false;  // the encoding comes from content=""
    bool has_http_equiv = false, has_content = false, has_charset = false;
    std::optional<PageEncoding> encoding;
    // If an attribute is repeated, the first is used.
    const auto is_first = [](bool& seen) { return !std::exchange(seen, true); };
    while (const auto attribute = next_attribute()) {
      if (equal_in_any_case(attribute->name, "http-equiv")) {
        if (is_first(has_http_equiv)) pragma = equal_in_any_case(attribute->value, "content-type");
      } else if (equal_in_any_case(attribute->name, "content")) {
        if (!is_first(has_content) || has_charset) continue;
        encoding = encoding_in_meta_content(attribute->value);
        needs_pragma = encoding.has_value();
      } else if (equal_in_any_case(attribute->name, "charset")) {
        if (!is_first(has_charset)) continue;
        encoding = PageEncoding::find(attribute->value);
        needs_pragma = false;
      }
    }
    if (ended_ || !encoding || (needs_pragma && !pragma)) return std::nullopt;
    if (encoding_info(*encoding).name == "x-user-defined") return PageEncoding::windows_1252();
    return readable(*encoding);
  }

  // "Get an attribute". Returns nothing at the end of the tag, with at_ on it, and at the end of
  // the page, with ended_ set: an attribute that is cut is ignored.
  std::optional<Attribute> next_attribute() {
    skip(kWhiteSpace | kSlash);
    if (at_ < head_.size() && head_[at_] == '>') return std::nullopt;
    Attribute attribute;
    attribute.name = take_name();
    skip(kWhiteSpace);
    if (at_ < head_.size() && head_[at_] == '=') {
      ++at_;
      skip(kWhiteSpace);
      attribute.value = take_value();
    }
    if (at_ >= head_.size()) {
      ended_ = true;
      return std::nullopt;
    }
    return attribute;
  }

  void skip(unsigned classes) {
    while (at_ < head_.size() && is_any_of(head_[at_], classes))
      ++at_;
  }

  void skip_to(unsigned classes) {
    while (at_ < head_.size() && !is_any_of(head_[at_], classes))
      ++at_;
  }

  std::string_view take_name() {
    const std::size_t start = at_;
    // A leading '=' belongs to the name.
    if (at_ < head_.size() && head_[at_] == '=') ++at_;
    skip_to(kWhiteSpace | kTagEnd | kSlash | kEquals);
    return head_.substr(start, at_ - start);
  }

  std::string_view take_value() {
    if (at_ < head_.size() && (head_[at_] == '"' || head_[at_] == '\'')) {
      const std::size_t start = at_ + 1;
      const std::size_t end = std::min(head_.find(head_[at_], start), head_.size());
      at_ = std::min(end + 1, head_.size());
      return head_.substr(start, end - start);
    }
    const std::size_t start = at_;
    skip_to(kWhiteSpace | kTagEnd);
    return head_.substr(start, at_ - start);
  }

  std::string_view head_;
  std::size_t at_ = 0;
  bool ended_ = false;
};

// "Get an XML encoding", for pages that begin with an XML declaration.
std::optional<PageEncoding> xml_declaration_encoding(std::string_view head) {
  if (!head.starts_with("<?xml")) return std::nullopt;
  std::string_view rest = head.substr(0, head.find('>'));
  const auto skip_blanks = [&rest] {
    while (!rest.empty() && is_c0_control_or_space(rest.front()))
      rest.remove_prefix(1);
  };
  if (rest.size() == head.size()) return std::nullopt;
  const std::size_t name = rest.find("encoding");
  if (name == std::string_view::npos) return std::nullopt;
  rest.remove_prefix(name + std::string_view("encoding").size());
  skip_blanks();
  if (!rest.starts_with('=')) return std::nullopt;
  rest.remove_prefix(1);
  skip_blanks();
  if (!rest.starts_with('"') && !rest.starts_with('\'')) return std::nullopt;
  const std::size_t end = rest.find(rest.front(), 1);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view label = rest.substr(1, end - 1);
  if (std::ranges::any_of(label, is_c0_control_or_space)) return std::nullopt;
  const auto encoding = PageEncoding::find(label);
  if (!encoding) return std::nullopt;
  return readable(*encoding);
}

}  // namespace

std::optional<PageEncoding> encoding_in_meta_content(std::string_view content) {
  constexpr std::string_view kCharset = "charset";
  while (content.size() >= kCharset.size()) {
    if (!starts_with_in_any_case(content, kCharset)) {
      content.remove_prefix(1);
      continue;
    }
    content.remove_prefix(kCharset.size());
    skip_white_space(content);
    if (!content.starts_with('=')) continue;
    content.remove_prefix(1);
    skip_white_space(content);
    if (content.starts_with('"') || content.starts_with('\'')) {
      const std::size_t end = content.find(content.front(), 1);
      if (end == std::string_view::npos) return std::nullopt;
      return PageEncoding::find(content.substr(1, end - 1));
    }
    return PageEncoding::find(content.substr(0, content.find_first_of(" \t\n\f\r;")));
  }
  return std::nullopt;
}

std::optional<PageEncoding> prescan_encoding(std::string_view head) {
  using namespace std::string_view_literals;
  // UTF-16 without a byte order mark, but with an XML declaration.
  if (head.starts_with("<\0?\0x\0"sv)) return PageEncoding::find("utf-16le");
  if (head.starts_with("\0<\0?\0x"sv)) return PageEncoding::find("utf-16be");
  if (const auto encoding = Prescan(head).run()) return encoding;
  return xml_declaration_encoding(head);
}

}  // namespace trawl
