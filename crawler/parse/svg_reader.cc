#include "crawler/parse/svg_reader.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "crawler/parse/html/character_references.h"
#include "crawler/parse/html/html_tokenizer.h"
#include "crawler/parse/sitemap/xml_push_parser.h"
#include "crawler/parse/sitemap/xml_repairer.h"

namespace trawl {

namespace {

constexpr std::size_t kBlock = 64u << 10;
constexpr std::size_t kMostPrefixes = 64;
constexpr std::string_view kXlink = "http://www.w3.org/1999/xlink";

// The elements of other namespaces load nothing.
using Space = std::optional<MarkupSpace>;

Space space_of(std::string_view name_space) {
  // An entity of an older drawing program, which is not expanded.
  if (name_space.starts_with('&') || name_space == "http://www.w3.org/2000/svg")
    return MarkupSpace::kSvg;
  if (name_space == "http://www.w3.org/1999/xhtml") return MarkupSpace::kHtml;
  return std::nullopt;
}

class SvgElements : public XmlHandler {
 public:
  SvgElements(ReferenceCollector& collector, PageReferences& page)
      : collector_(collector), page_(page) {}

  void start_element(const XmlName& name, const std::vector<XmlAttribute>& attributes) override {
    defaults_.push_back(defaults_.empty() ? Space() : defaults_.back());
    for (const XmlAttribute& attribute : attributes)
      declare(attribute);
    const Space space = name.prefix.empty() ? defaults_.back() : space_of_prefix(name.prefix);
    if (!space) return;
    const Element element = find_element(name.local);
    take(*space, element, attributes);
    const bool is_read =
        (element == Element::kStyle && collector_.wants_style_sheets()) ||
        (element == Element::kTitle && defaults_.size() == 2 && collector_.wants_title());
    if (!is_read || read_ != Element::kOther) return;
    read_ = element;
    depth_of_read_ = defaults_.size();
  }

  void end_element(const XmlName&) override {
    if (read_ != Element::kOther && defaults_.size() == depth_of_read_) end_text();
    if (!defaults_.empty()) defaults_.pop_back();
  }

  void text(std::string_view text) override {
    if (read_ != Element::kOther) text_ += text;
  }

 private:
  // Prefixes are valid to the end of the document, not of the element: no document uses one twice.
  void declare(const XmlAttribute& attribute) {
    const XmlName name = split_xml_name(attribute.name);
    if (attribute.name == "xmlns") defaults_.back() = space_of(attribute.value);
    if (name.prefix != "xmlns") return;
    if (attribute.value == kXlink) xlink_ = name.local;
    const Space space = space_of(attribute.value);
    if (space && prefixes_.size() < kMostPrefixes) prefixes_.emplace_back(name.local, *space);
  }

  Space space_of_prefix(std::string_view prefix) const {
    for (const auto& [known, space] : prefixes_) {
      if (known == prefix) return space;
    }
    return std::nullopt;
  }

  void take(MarkupSpace space, Element element, const std::vector<XmlAttribute>& attributes) {
    const bool wants_style = collector_.wants_style_attributes();
    if (!collector_.wants(space, element) && !wants_style) return;
    attributes_.clear();
    for (const XmlAttribute& attribute : attributes) {
      const auto found = attribute_of(attribute.name);
      if (!found || attributes_.has(*found) || !collector_.has_room()) continue;
      attributes_.add(*found, page_.made.emplace_back(attribute.value));
    }
    collector_.element(space, element, attributes_);
  }

  std::optional<Attribute> attribute_of(std::string_view written) const {
    const XmlName name = split_xml_name(written);
    if (name.prefix.empty()) return find_attribute(written);
    if (name.prefix == xlink_ && name.local == "href") return Attribute::kXlinkHref;
    return std::nullopt;
  }

  void end_text() {
    if (read_ == Element::kTitle) {
      collector_.title(text_);
    } else if (collector_.has_room()) {
      collector_.style_sheet(page_.made.emplace_back(std::move(text_)));
    }
    text_.clear();
    read_ = Element::kOther;
  }

  ReferenceCollector& collector_;
  PageReferences& page_;
  ElementAttributes attributes_;
  std::vector<Space> defaults_;  // of each open element, the namespace of names without a prefix
  std::vector<std::pair<std::string, MarkupSpace>> prefixes_;
  std::string xlink_ = "xlink";
  Element read_ = Element::kOther;  // the open <style> or <title>
  std::size_t depth_of_read_ = 0;
  std::string text_;  // in it
};

// The length of a declaration at the beginning of `text`: <!DOCTYPE svg [ ... ]>.
std::size_t declaration_length(std::string_view text) {
  char quote = 0;
  bool in_subset = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == ']') {
      in_subset = c == '[';
    } else if (c == '>' && !in_subset) {
      return i + 1;
    }
  }
  return text.size();
}

// `data` has the form of attributes.
void take_style_sheet(std::string_view data, ReferenceCollector& collector, PageReferences& page) {
  const std::string tag = "<link " + std::string(data) + '>';
  HtmlTokenizer tokens(tag);
  if (tokens.next() != TokenKind::kStartTag) return;
  for (const RawAttribute& attribute : tokens.attributes()) {
    if (tokens.name_of(attribute) != "href" || !collector.has_room()) continue;
    std::string& href = page.made.emplace_back();
    decode_text(tokens.value_of(attribute), ReferenceContext::kAttribute, href);
    ElementAttributes attributes;
    attributes.add(Attribute::kRel, "stylesheet");
    attributes.add(Attribute::kHref, href);
    // A fragment is a <style> of the document.
    if (!href.starts_with('#')) collector.element(MarkupSpace::kHtml, Element::kLink, attributes);
    return;
  }
}

}  // namespace

void read_xml_prolog(std::string_view text, ReferenceCollector& collector, PageReferences& page) {
  constexpr std::string_view kStyleSheet = "<?xml-stylesheet";
  while (true) {
    skip_white_space(text);
    std::size_t length = text.npos;
    if (text.starts_with("<?")) {
      length = text.find("?>");
      if (length == text.npos) return;
      std::string_view data = text.substr(0, length);
      if (data.starts_with(kStyleSheet)) {
        data.remove_prefix(kStyleSheet.size());
        if (!data.empty() && is_html_white_space(data.front()))
          take_style_sheet(data, collector, page);
      }
      length += 2;
    } else if (text.starts_with("<!--")) {
      length = text.find("-->");
      if (length == text.npos) return;
      length += 3;
    } else if (text.starts_with("<!")) {
      length = declaration_length(text);
    } else {
      return;
    }
    text.remove_prefix(length);
  }
}

void read_svg(std::string_view text, ReferenceCollector& collector, PageReferences& page) {
  read_xml_prolog(text, collector, page);
  SvgElements elements(collector, page);
  XmlPushParser parser(elements);
  XmlRepairer repairer;
  std::string repaired;
  while (!text.empty() && !page.too_large) {
    const std::string_view block = text.substr(0, kBlock);
    text.remove_prefix(block.size());
    repaired.clear();
    repairer.repair(block, repaired);
    if (text.empty()) repairer.finish(repaired);
    if (!parser.feed(repaired)) return;
  }
  parser.finish();
}

}  // namespace trawl
