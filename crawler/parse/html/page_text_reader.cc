#include "crawler/parse/html/page_text_reader.h"

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "crawler/parse/html/element_content_model.h"
#include "crawler/parse/html/shadow_root.h"

namespace trawl {
namespace {

bool is_svg_or_math(Element element) noexcept {
  return element == Element::kSvg || element == Element::kMath;
}

}  // namespace

void PageTextReader::read(std::string_view html, std::size_t limit, std::string& text) {
  text.clear();
  CollapsedText words(text, limit);
  foreign_ = 0;
  hidden_templates_ = 0;
  raw_text_ = false;
  silent_ = Element::kOther;
  tokens_.reset(html);
  tokens_.set_cdata(false);
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
        end_tag(words);
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

bool PageTextReader::start_tag(CollapsedText& text) {
  const Element element = find_element(tokens_.tag_name());
  if (hidden_templates_ == 0 && breaks_line(element)) text.add_space();
  if (is_svg_or_math(element)) {
    if (tokens_.self_closing()) return true;
    ++foreign_;
    tokens_.set_cdata(true);
    return true;
  }
  if (foreign_ > 0) {
    const bool silent = element == Element::kScript || element == Element::kStyle;
    if (silent && !tokens_.self_closing()) silent_ = element;
    return true;
  }
  const ContentModel model = content_model(element);
  if (model == ContentModel::kPlaintext) return false;
  if (model != ContentModel::kData) {
    tokens_.set_content(model, to_string(element));
    raw_text_ = true;
  } else if (element == Element::kTemplate) {
    const auto attributes = tokens_.attributes();
    const auto mode = std::ranges::find_if(attributes, [this](const RawAttribute& attribute) {
      return equal_in_any_case(tokens_.name_of(attribute), kShadowRootMode);
    });
    const bool shown = hidden_templates_ == 0 && mode != attributes.end() &&
                       is_shadow_root_mode(tokens_.value_of(*mode));
    if (!shown) ++hidden_templates_;
  }
  return true;
}

void PageTextReader::end_tag(CollapsedText& text) {
  if (raw_text_) {
    raw_text_ = false;
    return;
  }
  const Element element = find_element(tokens_.tag_name());
  if (hidden_templates_ == 0 && breaks_line(element)) text.add_space();
  if (element == silent_) silent_ = Element::kOther;
  if (is_svg_or_math(element) && foreign_ > 0) {
    --foreign_;
    tokens_.set_cdata(foreign_ > 0);
  }
  // The end tag of a shadow root in a hidden template ends a template too.
  if (element == Element::kTemplate && hidden_templates_ > 0) --hidden_templates_;
}

}  // namespace trawl
