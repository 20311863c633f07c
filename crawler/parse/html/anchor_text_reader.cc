#include "crawler/parse/html/anchor_text_reader.h"

#include "base/ascii.h"
#include "crawler/parse/html/element_content_model.h"
#include "crawler/parse/html/shadow_root.h"

namespace trawl {
namespace {

// Elements whose end closes an <a> inside them, and which an outer </a> does not close.
bool is_object(Element element) noexcept {
  return element == Element::kObject || element == Element::kApplet || element == Element::kMarquee;
}

bool is_foreign(Element element) noexcept {
  return element == Element::kSvg || element == Element::kMath;
}

}  // namespace

void AnchorTextReader::read(const AnchorSource& source, std::string& text) {
  text.clear();
  CollapsedText words(text, kMaxLinkText);
  in_svg_ = source.space == MarkupSpace::kSvg;
  open_ = {.foreign = in_svg_ ? 1u : 0u};
  tokens_.reset(source.inside);
  tokens_.set_cdata(in_svg_);
  for (bool goes_on = true; goes_on && !words.full();) {
    switch (tokens_.next()) {
      case TokenKind::kText:
        if (is_shown()) decoder_.add(tokens_.text(), ReferenceContext::kText, words);
        break;
      case TokenKind::kCdata:
        if (is_shown()) decoder_.add(tokens_.text(), std::nullopt, words);
        break;
      case TokenKind::kStartTag:
        goes_on = start_tag(words);
        break;
      case TokenKind::kEndTag:
        goes_on = end_tag(words);
        break;
      case TokenKind::kComment:
      case TokenKind::kDoctype:
        break;
      case TokenKind::kEnd:
        goes_on = false;
        break;
    }
  }
}

bool AnchorTextReader::start_tag(CollapsedText& text) {
  const Element element = find_element(tokens_.tag_name());
  if (breaks_line(element)) text.add_space();
  const bool foreign = open_.foreign > 0;
  if (element == Element::kImg || (element == Element::kImage && !foreign)) {
    const auto alt = attribute("alt");
    if (!alt || !is_shown()) return true;
    text.add_space();
    decoder_.add(*alt, ReferenceContext::kAttribute, text);
    text.add_space();
    return true;
  }
  if (is_foreign(element) && !tokens_.self_closing()) {
    ++open_.foreign;
    tokens_.set_cdata(true);
    return true;
  }
  if (!foreign) return start_html(element);
  const bool silent = element == Element::kScript || element == Element::kStyle;
  if (silent && !tokens_.self_closing()) open_.silent = element;
  return true;
}

bool AnchorTextReader::start_html(Element element) {
  const ContentModel model = content_model(element);
  if (model == ContentModel::kPlaintext) return false;
  if (model != ContentModel::kData) {
    tokens_.set_content(model, to_string(element));
    open_.raw_text = true;
  } else if (element == Element::kTemplate) {
    start_template();
  } else if (open_.hidden_templates > 0) {
    return true;
  } else if (element == Element::kTable) {
    ++open_.tables;
  } else if (is_object(element)) {
    ++open_.objects;
  } else if (is_table_part(element)) {
    // If the table is around the anchor, the tag ends the anchor's cell.
    return open_.tables > 0;
  }
  return true;
}

void AnchorTextReader::start_template() {
  const auto mode = attribute(kShadowRootMode);
  const bool shown = open_.hidden_templates == 0 && mode && is_shadow_root_mode(*mode);
  ++(shown ? open_.shadow_roots : open_.hidden_templates);
}

bool AnchorTextReader::end_tag(CollapsedText& text) {
  if (open_.raw_text) {
    open_.raw_text = false;
    return true;
  }
  const Element element = find_element(tokens_.tag_name());
  if (breaks_line(element)) text.add_space();
  if (element == open_.silent) open_.silent = Element::kOther;
  if (is_foreign(element)) {
    if (open_.foreign > 0) --open_.foreign;
    tokens_.set_cdata(open_.foreign > 0);
    return !in_svg_ || open_.foreign > 0;
  }
  if (element == Element::kTemplate) return end_template();
  return open_.hidden_templates > 0 || end_html(element);
}

bool AnchorTextReader::end_template() {
  if (open_.hidden_templates > 0) {
    --open_.hidden_templates;
  } else if (open_.shadow_roots > 0) {
    --open_.shadow_roots;
  } else {
    return false;
  }
  return true;
}

bool AnchorTextReader::end_html(Element element) {
  if (element == Element::kA) {
    return open_.tables > 0 || open_.objects > 0 || open_.shadow_roots > 0;
  }
  if (element == Element::kTable) return open_.tables-- > 0;
  if (is_object(element)) return open_.objects-- > 0;
  return !is_table_part(element) || open_.tables > 0;
}

bool AnchorTextReader::is_shown() const noexcept {
  return open_.hidden_templates == 0 && !open_.raw_text && open_.silent == Element::kOther;
}

std::optional<std::string_view> AnchorTextReader::attribute(std::string_view name) const noexcept {
  for (const RawAttribute& one : tokens_.attributes()) {
    if (equal_in_any_case(tokens_.name_of(one), name)) return tokens_.value_of(one);
  }
  return std::nullopt;
}

}  // namespace trawl
