#include "crawler/parse/html/gumbo_page_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.h"
#include "crawler/parse/html/shadow_root.h"

namespace trawl {
namespace {

// Misnested tags make the parser repeat elements: "<a><p>x<p>y" gives an <a> in each paragraph, of
// which only the first is in the source. Also, Gumbo turns <isindex> into a form, as the standard
// once required.
bool stands_in_page(const GumboNode& node) noexcept {
  constexpr unsigned kMade =
      static_cast<unsigned>(GUMBO_INSERTION_RECONSTRUCTED_FORMATTING_ELEMENT) |
      static_cast<unsigned>(GUMBO_INSERTION_ADOPTION_AGENCY_CLONED) |
      static_cast<unsigned>(GUMBO_INSERTION_FROM_ISINDEX);
  return (static_cast<unsigned>(node.parse_flags) & kMade) == 0;
}

bool is_element(const GumboNode& node) noexcept {
  return node.type == GUMBO_NODE_ELEMENT || node.type == GUMBO_NODE_TEMPLATE;
}

// True for templates whose contents are not part of the document.
bool is_hidden_template(const GumboElement& element) noexcept {
  if (element.tag != GUMBO_TAG_TEMPLATE || element.tag_namespace != GUMBO_NAMESPACE_HTML) {
    return false;
  }
  const GumboAttribute* mode = gumbo_get_attribute(&element.attributes, kShadowRootMode.data());
  return mode == nullptr || !is_shadow_root_mode(mode->value);
}

MarkupSpace space_of(const GumboElement& element) noexcept {
  switch (element.tag_namespace) {
    case GUMBO_NAMESPACE_SVG:
      return MarkupSpace::kSvg;
    case GUMBO_NAMESPACE_MATHML:
      return MarkupSpace::kMathMl;
    case GUMBO_NAMESPACE_HTML:
      break;
  }
  return MarkupSpace::kHtml;
}

std::string_view tag_name(const GumboElement& element) noexcept {
  std::string_view tag(element.original_tag.data, element.original_tag.length);
  if (!tag.starts_with('<')) return {};
  tag.remove_prefix(1);
  const auto end = std::ranges::find_if(
      tag, [](char c) { return is_html_white_space(c) || c == '/' || c == '>'; });
  return tag.substr(0, static_cast<std::size_t>(end - tag.begin()));
}

Element name_of(const GumboElement& element) {
  static const auto kNames = [] {
    std::array<Element, GUMBO_TAG_LAST> names{};
    for (std::size_t i = 0; i < GUMBO_TAG_UNKNOWN; ++i)
      names[i] = find_element(gumbo_normalized_tagname(static_cast<GumboTag>(i)));
    return names;
  }();
  if (element.tag < GUMBO_TAG_UNKNOWN) return kNames[element.tag];
  return find_element(tag_name(element));
}

std::optional<Attribute> name_of(const GumboAttribute& attribute) noexcept {
  if (attribute.attr_namespace == GUMBO_ATTR_NAMESPACE_NONE) return find_attribute(attribute.name);
  if (attribute.attr_namespace == GUMBO_ATTR_NAMESPACE_XLINK &&
      std::string_view(attribute.name) == "href") {
    return Attribute::kXlinkHref;
  }
  return std::nullopt;
}

const GumboAttribute* style_attribute(const GumboElement& element) noexcept {
  for (unsigned i = 0; i < element.attributes.length; ++i) {
    const auto* attribute = static_cast<const GumboAttribute*>(element.attributes.data[i]);
    if (name_of(*attribute) == Attribute::kStyle) return attribute;
  }
  return nullptr;
}

// Whether an attribute of SVG may have a url().
bool may_have_presentation(const GumboElement& element) noexcept {
  for (unsigned i = 0; i < element.attributes.length; ++i) {
    const auto* attribute = static_cast<const GumboAttribute*>(element.attributes.data[i]);
    if (std::string_view(attribute->value).find('(') != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

GumboSandbox::Verdict GumboPageReader::read(std::string_view html, ReferenceCollector& collector) {
  found_.clear();
  texts_.clear();
  sandbox_.emplace(limits_);
  const GumboSandbox::Verdict verdict = sandbox_->parse(characters_.hide(html));
  memory_used_ = sandbox_->memory_used();
  if (verdict != GumboSandbox::Verdict::kParsed) return verdict;
  if (!find_elements(*sandbox_->document(), collector))
    return GumboSandbox::Verdict::kTooMuchMemory;
  std::ranges::stable_sort(found_, std::less<>(), &Found::place);
  for (std::size_t i = 0; i < found_.size(); ++i) {
    report(found_[i], collector);
    if (is_anchor(found_[i]) && collector.wants_texts()) {
      collector.inside_anchor(found_[i].space, inside_anchor(i));
    }
  }
  return verdict;
}

// Walks the tree without recursion, since the page determines its depth. Returns false if the
// elements exceed max_memory.
bool GumboPageReader::find_elements(const GumboNode& document,
                                    const ReferenceCollector& collector) {
  struct Level {
    const GumboVector* children;
    unsigned next;
  };
  std::vector<Level> levels{{&document.v.document.children, 0}};
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.next == level.children->length) {
      levels.pop_back();
      continue;
    }
    const auto* node = static_cast<const GumboNode*>(level.children->data[level.next++]);
    if (!is_element(*node) || is_hidden_template(node->v.element)) continue;
    look_at(*node, collector);
    if ((found_.size() + levels.size()) * sizeof(Found) > limits_.max_memory - memory_used_) {
      return false;
    }
    const GumboVector& children = node->v.element.children;
    if (children.length > 0) levels.push_back({&children, 0});
  }
  memory_used_ += found_.size() * sizeof(Found);
  return true;
}

// Records an element if there is something to report about it.
void GumboPageReader::look_at(const GumboNode& node, const ReferenceCollector& collector) {
  if (!stands_in_page(node)) return;
  const GumboElement& element = node.v.element;
  Found found{.place = element.original_tag.data,
              .element = &element,
              .space = space_of(element),
              .name = name_of(element)};
  const GumboAttribute* style =
      collector.wants_style_attributes() ? style_attribute(element) : nullptr;
  // <html> and <body> have the attributes of all tags of that name, and may have no start tag.
  if (style != nullptr && (found.name == Element::kHtml || found.name == Element::kBody)) {
    found.place = style->original_name.data;
  }
  if (found.place == nullptr && found.name == Element::kHtml) {
    const GumboAttribute* const lang = gumbo_get_attribute(&element.attributes, "lang");
    if (lang != nullptr) found.place = lang->original_name.data;
  }
  const bool wanted = collector.wants(found.space, found.name) || style != nullptr ||
                      (found.space == MarkupSpace::kSvg && collector.wants_style_attributes() &&
                       may_have_presentation(element)) ||
                      (found.name == Element::kTitle && found.space == MarkupSpace::kHtml);
  if (wanted && found.place != nullptr) found_.push_back(found);
}

void GumboPageReader::report(const Found& found, ReferenceCollector& collector) {
  attributes_.clear();
  for (unsigned i = 0; i < found.element->attributes.length; ++i) {
    const auto* one = static_cast<const GumboAttribute*>(found.element->attributes.data[i]);
    if (const auto attribute = name_of(*one)) {
      attributes_.add(*attribute, characters_.restore(one->value, texts_));
    }
  }
  collector.element(found.space, found.name, attributes_);
  if (found.name == Element::kTitle && found.space == MarkupSpace::kHtml &&
      collector.wants_title()) {
    collector.title(text_of(*found.element));
  }
  if (found.name == Element::kStyle && found.space != MarkupSpace::kMathMl &&
      collector.wants_style_sheets()) {
    collector.style_sheet(text_of(*found.element));
  }
  if (found.name == Element::kScript && found.space == MarkupSpace::kHtml &&
      collector.wants_scripts()) {
    collector.script(text_of(*found.element));
  }
}

// The source after the start tag of an <a>, up to the next <a>.
std::string_view GumboPageReader::inside_anchor(std::size_t index) {
  const std::string_view source = sandbox_->source();
  const char* const begin = found_[index].place + found_[index].element->original_tag.length;
  const char* end = source.data() + source.size();
  for (std::size_t next = index + 1; next < found_.size(); ++next) {
    if (is_anchor(found_[next])) {
      end = found_[next].place;
      break;
    }
  }
  return characters_.restore({begin, end}, texts_);
}

// The text of its child nodes, without child elements.
std::string_view GumboPageReader::text_of(const GumboElement& element) {
  std::string_view text;
  std::string* joined = nullptr;
  for (unsigned i = 0; i < element.children.length; ++i) {
    const auto* child = static_cast<const GumboNode*>(element.children.data[i]);
    if (child->type != GUMBO_NODE_TEXT && child->type != GUMBO_NODE_CDATA &&
        child->type != GUMBO_NODE_WHITESPACE) {
      continue;
    }
    const std::string_view part = child->v.text.text;
    if (text.empty()) {
      text = part;
      continue;
    }
    if (joined == nullptr) joined = &texts_.emplace_back(text);
    *joined += part;
    text = *joined;
  }
  return characters_.restore(text, texts_);
}

}  // namespace trawl
