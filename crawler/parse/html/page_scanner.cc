#include "crawler/parse/html/page_scanner.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/ascii_prefix.h"
#include "base/utf8_validation.h"
#include "crawler/parse/encoding/valid_utf8.h"
#include "crawler/parse/html/element_content_model.h"
#include "crawler/parse/html/foreign_content.h"
#include "crawler/parse/html/shadow_root.h"

namespace trawl {
namespace {

// Deeper nesting of SVG or MathML is hostile.
constexpr std::size_t kDeepestForeign = 10'000;

// Whether a start tag changes how the tags after it are read.
constexpr bool shapes_page(Element element) {
  switch (element) {
    case Element::kBody:
    case Element::kCol:
    case Element::kForm:
    case Element::kFrame:
    case Element::kFrameset:
    case Element::kHead:
    case Element::kHtml:
    case Element::kInput:
    case Element::kKeygen:
    case Element::kMath:
    case Element::kSelect:
    case Element::kSvg:
    case Element::kTable:
    case Element::kTemplate:
    case Element::kTextarea:
      return true;
    default:
      return is_table_part(element) || content_model(element) != ContentModel::kData;
  }
}

// The same for an end tag.
constexpr bool end_shapes_page(Element element) {
  switch (element) {
    case Element::kForm:
    case Element::kSelect:
    case Element::kTable:
    case Element::kTemplate:
      return true;
    default:
      return is_table_part(element);
  }
}

const TagFilter kStructure = [] {
  TagFilter filter;
  for (std::size_t i = 1; i < kElements; ++i) {
    const auto element = static_cast<Element>(i);
    if (shapes_page(element)) filter.add_start(to_string(element));
    if (end_shapes_page(element)) filter.add_end(to_string(element));
  }
  return filter;
}();

bool is_cell_or_caption(Element element) {
  return element == Element::kTd || element == Element::kTh || element == Element::kCaption;
}

}  // namespace

// All tags to which start_html() and end_tag() do something, or that the collector wants.
void PageScanner::choose_tags() {
  wanted_tags_ = skips_tags_ ? kStructure : TagFilter::all();
  if (collector_->wants_style_attributes()) return wanted_tags_.add_all_starts();
  for (std::size_t i = 0; i < kElements; ++i) {
    const auto element = static_cast<Element>(i);
    if (collector_->wants(MarkupSpace::kHtml, element)) wanted_tags_.add_start(to_string(element));
  }
}

PageScanner::Verdict PageScanner::scan(std::string_view html, ReferenceCollector& collector,
                                       PageReferences& page) {
  html_ = html;
  collector_ = &collector;
  page_ = &page;
  tokens_.reset(html);
  foreign_.clear();
  shown_templates_.clear();
  hidden_templates_ = 0;
  tables_.clear();
  in_select_ = false;
  form_is_open_ = false;
  seen_body_ = false;
  needs_tree_ = false;
  waiting_tag_.reset();
  anchor_.reset();
  if (!collector.counts_repeats()) {
    targets_.reset();
  } else {
    if (!targets_) targets_ = std::make_unique<RepeatedTexts>();
    targets_->begin();
  }

  choose_tags();
  for (TokenKind kind = next_tag(); kind != TokenKind::kEnd; kind = next_tag()) {
    if (kind == TokenKind::kStartTag) {
      start_tag();
    } else {
      end_tag();
    }
  }
  end_anchor(html.size());
  return needs_tree_ ? Verdict::kNeedsTree : Verdict::kExact;
}

TokenKind PageScanner::next_tag() {
  const auto waiting = std::exchange(waiting_tag_, std::nullopt);
  if (waiting) return *waiting;
  // In SVG and MathML every tag opens or closes an element.
  return foreign_.empty() ? tokens_.next_tag(wanted_tags_) : tokens_.next_tag();
}

void PageScanner::start_tag() {
  const Element element = find_element(tokens_.tag_name());
  if (foreign_.empty()) return start_html(element);
  if (foreign_.back().integration_point) {
    // Where the HTML in it ends cannot be known without a stack of all open elements.
    needs_tree_ = true;
    return start_html(element);
  }
  bool leaves = leaves_foreign_content(element);
  if (element == Element::kFont) {
    read_attributes();
    leaves = attributes_.has(Attribute::kColor) || attributes_.has(Attribute::kFace) ||
             attributes_.has(Attribute::kSize);
  }
  if (!leaves) return start_foreign(element);
  foreign_.clear();
  tokens_.set_cdata(false);
  start_html(element);
}

void PageScanner::start_html(Element element) {
  if (in_select_ && !start_in_select(element)) return;
  if (!is_ignored(element)) report(MarkupSpace::kHtml, element);

  const ContentModel model = content_model(element);
  if (model != ContentModel::kData) {
    tokens_.set_content(model, to_string(element));
    if (model != ContentModel::kPlaintext && in_document()) read_raw_text(element);
    return;
  }
  switch (element) {
    case Element::kTemplate:
      start_template();
      break;
    case Element::kSelect:
      in_select_ = true;
      break;
    case Element::kTable:
      if (in_document()) start_table();
      break;
    case Element::kCol:
      // In a template that begins with <col>, most start tags are ignored.
      if (!in_document()) needs_tree_ = true;
      break;
    case Element::kForm:
      if (in_document()) form_is_open_ = true;
      break;
    case Element::kBody:
      seen_body_ = true;
      break;
    case Element::kFrameset:
      if (in_document()) needs_tree_ = true;
      break;
    case Element::kSvg:
    case Element::kMath:
      foreign_space_ = element == Element::kSvg ? MarkupSpace::kSvg : MarkupSpace::kMathMl;
      open_foreign(element);
      break;
    default:
      break;
  }
}

// In a <select>, most start tags are ignored, and some end it. Returns whether the tag makes an
// element.
bool PageScanner::start_in_select(Element element) {
  switch (element) {
    case Element::kOption:
    case Element::kOptgroup:
    case Element::kHr:
    case Element::kScript:
    case Element::kHtml:
      return true;
    case Element::kSelect:
      in_select_ = false;
      return false;
    case Element::kInput:
    case Element::kKeygen:
    case Element::kTextarea:
      in_select_ = false;
      return true;
    case Element::kTemplate:
    case Element::kSvg:
    case Element::kMath:
      needs_tree_ = true;
      return false;
    default:
      // In a table, parts of the table end the <select>. For tags that would make a link, the tree
      // decides.
      if (is_table_part(element) || element == Element::kTable ||
          content_model(element) != ContentModel::kData ||
          collector_->wants(MarkupSpace::kHtml, element)) {
        needs_tree_ = true;
      }
      return false;
  }
}

// Whether a start tag is ignored at its position.
bool PageScanner::is_ignored(Element element) {
  switch (element) {
    case Element::kForm:
      return form_is_open_ && in_document();
    case Element::kFrame:
      return !needs_tree_;  // valid only in a <frameset>
    case Element::kBody:
    case Element::kHead:
    case Element::kHtml:
      // The attributes of a second tag are added to the first element.
      if (has_style_attribute() && (seen_body_ || element != Element::kBody)) needs_tree_ = true;
      return false;
    default:
      if (!is_table_part(element) || !in_document()) return false;
      if (tables_.empty()) {
        if (has_style_attribute()) needs_tree_ = true;
        return true;
      }
      tables_.back() = is_cell_or_caption(element) ? element : Element::kOther;
      return false;
  }
}

// The contents of a template are not part of the document, except in a declarative shadow root.
void PageScanner::start_template() {
  const auto attributes = tokens_.attributes();
  const auto mode = std::ranges::find_if(attributes, [this](const RawAttribute& attribute) {
    return equal_in_any_case(tokens_.name_of(attribute), kShadowRootMode);
  });
  const bool shown = mode != attributes.end() && is_shadow_root_mode(tokens_.value_of(*mode));
  shown_templates_.push_back(shown);
  if (!shown) ++hidden_templates_;
}

// A <table> directly inside another table, outside its cells, ends the other.
void PageScanner::start_table() {
  if (tables_.empty() || tables_.back() != Element::kOther) tables_.push_back(Element::kOther);
}

void PageScanner::start_foreign(Element element) {
  report(foreign_space_, element);
  open_foreign(element);
  if (element == Element::kStyle && foreign_space_ == MarkupSpace::kSvg &&
      !tokens_.self_closing() && in_document() && collector_->wants_style_sheets()) {
    read_svg_style();
  }
}

void PageScanner::open_foreign(Element element) {
  if (tokens_.self_closing()) return;
  if (foreign_.size() == kDeepestForeign) {
    needs_tree_ = true;
    return;
  }
  foreign_.push_back({.name = tokens_.tag_name(),
                      .element = element,
                      .integration_point = is_integration_point(foreign_space_, element)});
  tokens_.set_cdata(true);
}

void PageScanner::end_tag() {
  if (!foreign_.empty()) return end_foreign();
  const Element element = find_element(tokens_.tag_name());
  switch (element) {
    case Element::kTemplate:
      if (shown_templates_.empty()) return;
      if (in_select_) needs_tree_ = true;
      in_select_ = false;
      if (!shown_templates_.back()) --hidden_templates_;
      shown_templates_.pop_back();
      return;
    case Element::kSelect:
      in_select_ = false;
      return;
    case Element::kTable:
      if (in_select_) needs_tree_ = true;
      if (!tables_.empty() && in_document()) tables_.pop_back();
      return;
    case Element::kForm:
      if (!in_select_ && in_document()) form_is_open_ = false;
      return;
    default:
      if (!is_table_part(element)) return;
      // In a table, the end of a part of it ends an open <select>.
      if (in_select_ && (!tables_.empty() || !in_document())) needs_tree_ = true;
      if (!tables_.empty() && in_document()) end_table_part(element);
      return;
  }
}

// The end tag of a cell or caption ends only that; the end tag of a row or row group also ends its
// cells.
void PageScanner::end_table_part(Element element) {
  Element& open = tables_.back();
  const bool ends = is_cell_or_caption(element) ? open == element : open != Element::kCaption;
  if (ends) open = Element::kOther;
}

void PageScanner::end_foreign() {
  const std::string_view name = tokens_.tag_name();
  const Element element = find_element(name);
  std::size_t open = foreign_.size();
  if (element == Element::kP || element == Element::kBr) {
    // These end tags end all SVG and MathML, except inside integration points.
    if (std::ranges::any_of(foreign_, &Foreign::integration_point)) needs_tree_ = true;
    open = 1;
  } else {
    while (open > 0 && !equal_in_any_case(foreign_[open - 1].name, name)) {
      --open;
      // Once the tree is needed anyway, the search is skipped: many wrong end tags would take
      // quadratic time.
      if (needs_tree_) open = 0;
    }
    if (open == 0) {
      // An HTML end tag ends the enclosing HTML element if such an element is open.
      needs_tree_ = true;
      return;
    }
  }
  foreign_.resize(open - 1);
  tokens_.set_cdata(!foreign_.empty());
}

// Reports the title or style sheet between start and end tag.
void PageScanner::read_raw_text(Element element) {
  const bool is_title = element == Element::kTitle && collector_->wants_title();
  const bool is_style = element == Element::kStyle && collector_->wants_style_sheets();
  const bool is_script = element == Element::kScript && collector_->wants_scripts();
  if (!is_title && !is_style && !is_script) return;
  TokenKind kind = tokens_.next();
  const std::size_t begin = tokens_.offset();
  std::size_t end = begin;
  // An incomplete end tag at the end of the page is not text.
  for (; kind != TokenKind::kEndTag && kind != TokenKind::kEnd; kind = tokens_.next())
    end = tokens_.offset() + tokens_.text().size();
  const std::string_view text = html_.substr(begin, end - begin);
  if (is_title) {
    collector_->title(decoded(text, ReferenceContext::kText));
  } else if (is_style) {
    collector_->style_sheet(valid(text));
  } else {
    collector_->script(valid(text));
  }
}

// Reports the style sheet in a <style> of SVG, whose content is markup, as everywhere in SVG.
void PageScanner::read_svg_style() {
  std::string css;
  TokenKind kind = tokens_.next();
  while (kind != TokenKind::kStartTag && kind != TokenKind::kEndTag && kind != TokenKind::kEnd) {
    if (kind == TokenKind::kText) decode_text(tokens_.text(), ReferenceContext::kText, css);
    if (kind == TokenKind::kCdata) css += tokens_.text();
    kind = tokens_.next();
  }
  if (kind == TokenKind::kStartTag) needs_tree_ = true;
  page_->made.push_back(std::move(css));
  collector_->style_sheet(valid(page_->made.back()));
  waiting_tag_ = kind;
}

void PageScanner::report(MarkupSpace space, Element element) {
  if (!in_document()) return;
  if (!collector_->wants(space, element) && !has_style_attribute() &&
      !may_have_presentation(space)) {
    return;
  }
  const bool has_text =
      element == Element::kA && space != MarkupSpace::kMathMl && collector_->wants_texts();
  if (has_text) end_anchor(tokens_.offset());
  std::optional<std::string_view> target;
  if (targets_ && element == Element::kA && space == MarkupSpace::kHtml) {
    target = repeatable_target();
    if (const auto before = target ? targets_->find(*target) : std::nullopt) {
      ++page_->references[*before].times;
      return;
    }
  }
  read_attributes();
  if (has_text) anchor_ = {.inside = tokens_.end_offset(), .space = space};
  const std::size_t reference = page_->references.size();
  collector_->element(space, element, attributes_);
  if (target && page_->references.size() > reference)
    targets_->note(static_cast<std::uint32_t>(reference));
}

// Where an <a> leads, as written and without the fragment, if that and the fragment are all there
// is to it, and if equal ones lead to the same place when they are decoded, too. That is not so if
// the '#' belongs to a character reference ("&#9;"), and not if a reference in front of it stands
// for white space ("&Tab;"), which matters there: see without_fragment().
std::optional<std::string_view> PageScanner::repeatable_target() const noexcept {
  std::optional<std::string_view> href;
  for (const RawAttribute& attribute : tokens_.attributes()) {
    const std::string_view name = tokens_.name_of(attribute);
    if (!href && equal_in_any_case(name, "href")) href = tokens_.value_of(attribute);
    if (equal_in_any_case(name, "rel")) return std::nullopt;
  }
  if (!href) return std::nullopt;
  const std::string_view target = without_fragment(*href);
  if (target.ends_with('&') || target.ends_with(';')) return std::nullopt;
  return target;
}

// Reports the source of the last <a>, which ends at the next <a> or the page's end.
void PageScanner::end_anchor(std::size_t offset) {
  if (!anchor_) return;
  collector_->inside_anchor(anchor_->space,
                            html_.substr(anchor_->inside, offset - anchor_->inside));
  anchor_.reset();
}

bool PageScanner::has_style_attribute() const noexcept {
  return collector_->wants_style_attributes() &&
         std::ranges::any_of(tokens_.attributes(), [this](const RawAttribute& attribute) {
           return equal_in_any_case(tokens_.name_of(attribute), "style");
         });
}

// Whether an attribute of SVG may have a url().
bool PageScanner::may_have_presentation(MarkupSpace space) const noexcept {
  return space == MarkupSpace::kSvg && collector_->wants_style_attributes() &&
         std::ranges::any_of(tokens_.attributes(), [this](const RawAttribute& attribute) {
           return tokens_.value_of(attribute).find_first_of("(&") != std::string_view::npos;
         });
}

void PageScanner::read_attributes() {
  attributes_.clear();
  for (const RawAttribute& raw : tokens_.attributes()) {
    const auto attribute = find_attribute(tokens_.name_of(raw));
    if (attribute && !attributes_.has(*attribute)) {
      attributes_.add(*attribute, decoded(tokens_.value_of(raw), ReferenceContext::kAttribute));
    }
  }
}

std::string_view PageScanner::decoded(std::string_view raw, ReferenceContext context) {
  if (!needs_decoding(raw)) return valid(raw);
  if (!collector_->has_room()) return {};
  std::string& text = page_->made.emplace_back();
  decode_text(raw, context, text);
  return valid(text);
}

// Makes the text valid UTF-8 before any byte is removed from it, which could join the bytes around
// into a character.
std::string_view PageScanner::valid(std::string_view text) {
  if (ascii_prefix_length(text) == text.size() || is_utf8(text)) return text;
  if (!collector_->has_room()) return {};
  return replace_invalid_utf8(text, page_->made.emplace_back());
}

}  // namespace trawl
