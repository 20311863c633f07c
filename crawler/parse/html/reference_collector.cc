#include "crawler/parse/html/reference_collector.h"

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "crawler/parse/css/css_references.h"
#include "crawler/parse/encoding/valid_utf8.h"
#include "crawler/parse/headers/link_types.h"
#include "crawler/parse/headers/media_type.h"
#include "crawler/parse/html/collapsed_text.h"
#include "crawler/parse/html/meta_refresh_parser.h"
#include "crawler/parse/html/page_scanner.h"
#include "crawler/parse/html/srcset.h"
#include "crawler/parse/scripts/script_reader.h"
#include "crawler/parse/scripts/url_strings.h"

namespace trawl {
namespace {

constexpr std::size_t kMaxTitle = 4096;  // bytes
constexpr std::size_t kMaxLanguage = 64;

struct Wanted {
  MarkupSpace space;
  Element element;
  std::optional<LinkKind> kind;  // absent: always
};

constexpr Wanted kWanted[] = {
    {MarkupSpace::kHtml, Element::kA, LinkKind::kNavigation},
    {MarkupSpace::kHtml, Element::kArea, LinkKind::kNavigation},
    {MarkupSpace::kHtml, Element::kForm, LinkKind::kForm},
    {MarkupSpace::kHtml, Element::kIframe, LinkKind::kDocument},
    {MarkupSpace::kHtml, Element::kFrame, LinkKind::kDocument},
    {MarkupSpace::kHtml, Element::kObject, LinkKind::kDocument},
    {MarkupSpace::kHtml, Element::kEmbed, LinkKind::kDocument},
    {MarkupSpace::kHtml, Element::kImg, LinkKind::kResource},
    {MarkupSpace::kHtml, Element::kImage, LinkKind::kResource},
    {MarkupSpace::kHtml, Element::kSource, LinkKind::kResource},
    {MarkupSpace::kHtml, Element::kVideo, LinkKind::kResource},
    {MarkupSpace::kHtml, Element::kAudio, LinkKind::kResource},
    {MarkupSpace::kHtml, Element::kTrack, LinkKind::kResource},
    {MarkupSpace::kHtml, Element::kScript, LinkKind::kResource},
    {MarkupSpace::kHtml, Element::kStyle, LinkKind::kResource},
    {MarkupSpace::kHtml, Element::kInput, LinkKind::kResource},
    {MarkupSpace::kHtml, Element::kBlockquote, LinkKind::kCitation},
    {MarkupSpace::kHtml, Element::kQ, LinkKind::kCitation},
    {MarkupSpace::kHtml, Element::kBase, std::nullopt},
    {MarkupSpace::kHtml, Element::kLink, std::nullopt},
    {MarkupSpace::kHtml, Element::kMeta, std::nullopt},
    {MarkupSpace::kHtml, Element::kHtml, std::nullopt},
    {MarkupSpace::kSvg, Element::kA, LinkKind::kNavigation},
    {MarkupSpace::kSvg, Element::kImage, LinkKind::kResource},
    {MarkupSpace::kSvg, Element::kUse, LinkKind::kResource},
    {MarkupSpace::kSvg, Element::kFeImage, LinkKind::kResource},
    {MarkupSpace::kSvg, Element::kScript, LinkKind::kResource},
    {MarkupSpace::kSvg, Element::kStyle, LinkKind::kResource},
};

// Elements with a background attribute.
constexpr Element kWithBackground[] = {Element::kBody,  Element::kTable, Element::kThead,
                                       Element::kTbody, Element::kTfoot, Element::kTr,
                                       Element::kTd,    Element::kTh};

// Where scripts find the URLs of images that they load later.
constexpr Attribute kLazy[] = {Attribute::kDataSrc, Attribute::kDataOriginal,
                               Attribute::kDataLazySrc, Attribute::kDataPoster};

// Attributes of SVG whose value is that of a property, which may have a url().
constexpr Attribute kPresentation[] = {
    Attribute::kFill,      Attribute::kStroke,    Attribute::kFilter,
    Attribute::kMask,      Attribute::kClipPath,  Attribute::kMarkerStart,
    Attribute::kMarkerMid, Attribute::kMarkerEnd, Attribute::kCursor};

// Each level takes stack.
constexpr unsigned kDeepestSrcdoc = 64;

// `text` if it has the form of a language tag, else nothing.
std::string_view language_tag(std::string_view text) noexcept {
  const std::string_view tag = next_token(text);
  const bool is_tag =
      tag.size() <= kMaxLanguage && !tag.empty() && is_ascii_alpha(tag.front()) &&
      std::ranges::all_of(tag, [](char c) { return c == '-' || is_ascii_alphanumeric(c); });
  return is_tag && next_token(text).empty() ? tag : std::string_view();
}

bool only_a_fragment(std::string_view reference) noexcept {
  const auto first = std::ranges::find_if_not(reference, is_c0_control_or_space);
  return first != reference.end() && *first == '#';
}

}  // namespace

ReferenceCollector::ReferenceCollector(const LinkOptions& options, PageReferences& page)
    : options_(options),
      page_(page),
      wants_style_(options.kinds.has(LinkKind::kResource)),
      wants_texts_(options.texts && options.kinds.has(LinkKind::kNavigation)),
      wants_scripts_(options.kinds.has(LinkKind::kGuess) &&
                     (options.guess_scripts || options.guess_json)) {
  for (const Wanted& wanted : kWanted) {
    if (!wanted.kind || options.kinds.has(*wanted.kind)) {
      wanted_[static_cast<std::size_t>(wanted.space)].set(static_cast<std::size_t>(wanted.element));
    }
  }
  if (wants_scripts_)
    wanted_[static_cast<std::size_t>(MarkupSpace::kHtml)].set(
        static_cast<std::size_t>(Element::kScript));
  if (!options.requisites || !options.kinds.has(LinkKind::kResource)) return;
  for (const Element element : kWithBackground)
    wanted_[static_cast<std::size_t>(MarkupSpace::kHtml)].set(static_cast<std::size_t>(element));
}

void ReferenceCollector::element(MarkupSpace space, Element element,
                                 const ElementAttributes& attributes) {
  if (space == MarkupSpace::kHtml && element == Element::kImage) element = Element::kImg;
  if (element == Element::kA && space != MarkupSpace::kMathMl)
    anchor_reference_ = page_.references.size();
  if (wants(space, element)) {
    if (space == MarkupSpace::kHtml) html_element(element, attributes);
    if (space == MarkupSpace::kSvg) svg_element(element, attributes);
  }
  if (wants_style_ && space == MarkupSpace::kSvg) presentation(element, attributes);
  if (wants_style_ && attributes.has(Attribute::kStyle)) {
    add_css(attributes.get_or_empty(Attribute::kStyle), CssSource::kDeclarations, element);
  }
}

void ReferenceCollector::presentation(Element element, const ElementAttributes& attributes) {
  for (const Attribute attribute : kPresentation) {
    if (attributes.has(attribute))
      add_css(attributes.get_or_empty(attribute), CssSource::kDeclarations, element, attribute);
  }
}

void ReferenceCollector::html_element(Element element, const ElementAttributes& attributes) {
  switch (element) {
    case Element::kA:
    case Element::kArea:
      return add(LinkKind::kNavigation, element, Attribute::kHref, attributes);
    case Element::kForm:
      return form(attributes);
    case Element::kIframe:
      return frame(element, attributes);
    case Element::kFrame:
    case Element::kEmbed:
      return add(LinkKind::kDocument, element, Attribute::kSrc, attributes);
    case Element::kObject:
      return add(LinkKind::kDocument, element, Attribute::kData, attributes);
    case Element::kImg:
    case Element::kSource:
      add(LinkKind::kResource, element, Attribute::kSrc, attributes);
      add_srcset(element, Attribute::kSrcset, attributes);
      return add_lazy(element, attributes);
    case Element::kVideo:
      add(LinkKind::kResource, element, Attribute::kSrc, attributes);
      add(LinkKind::kResource, element, Attribute::kPoster, attributes);
      return add_lazy(element, attributes);
    case Element::kAudio:
    case Element::kTrack:
      return add(LinkKind::kResource, element, Attribute::kSrc, attributes);
    case Element::kScript:
      begin_script(attributes);
      return add(LinkKind::kResource, element, Attribute::kSrc, attributes);
    case Element::kInput:
      if (!equal_in_any_case(attributes.get_or_empty(Attribute::kType), "image")) return;
      return add(LinkKind::kResource, element, Attribute::kSrc, attributes);
    case Element::kStyle:
      return style(attributes);
    case Element::kBlockquote:
    case Element::kQ:
      return add(LinkKind::kCitation, element, Attribute::kCite, attributes);
    case Element::kBase:
      if (!page_.base) page_.base = attributes.get(Attribute::kHref);
      return;
    case Element::kLink:
      return link(attributes);
    case Element::kMeta:
      return meta(attributes);
    case Element::kHtml:
      // A second tag adds what the first does not have.
      if (attributes.has(Attribute::kLang) && !page_.language)
        page_.language = language_tag(attributes.get_or_empty(Attribute::kLang));
      return;
    case Element::kBody:
      // A second tag adds what the first does not have.
      if (body_has_background_) return;
      body_has_background_ = attributes.has(Attribute::kBackground);
      return add(LinkKind::kResource, element, Attribute::kBackground, attributes);
    case Element::kTable:
    case Element::kThead:
    case Element::kTbody:
    case Element::kTfoot:
    case Element::kTr:
    case Element::kTd:
    case Element::kTh:
      return add(LinkKind::kResource, element, Attribute::kBackground, attributes);
    default:
      return;
  }
}

// A browser loads `src` only without `srcdoc`.
void ReferenceCollector::frame(Element element, const ElementAttributes& attributes) {
  if (options_.requisites && attributes.has(Attribute::kSrcdoc))
    return srcdoc(attributes.get_or_empty(Attribute::kSrcdoc));
  add(LinkKind::kDocument, element, Attribute::kSrc, attributes);
  add_lazy(element, attributes);
}

// Takes what the document loads, not where it leads.
void ReferenceCollector::srcdoc(std::string_view html) {
  if (srcdoc_depth_ == kDeepestSrcdoc || !has_room_for_srcdoc(html)) {
    page_.too_large = true;
    return;
  }
  PageReferences& inner = page_.nested.emplace_back();
  ReferenceCollector collector(options_, inner);
  collector.srcdoc_depth_ = srcdoc_depth_ + 1;
  collector.page_srcdocs_ = page_srcdocs_ != nullptr ? page_srcdocs_ : &srcdocs_;
  PageScanner().scan(html, collector, inner);
  page_.too_large |= inner.too_large;
  for (const Reference& reference : inner.references) {
    if (reference.kind == LinkKind::kResource || reference.kind == LinkKind::kDocument)
      add(reference);
  }
  if (inner.references.empty()) page_.nested.pop_back();
}

bool ReferenceCollector::has_room_for_srcdoc(std::string_view html) {
  Srcdocs& all = page_srcdocs_ != nullptr ? *page_srcdocs_ : srcdocs_;
  ++all.documents;
  all.bytes += html.size();
  return all.documents <= options_.max_memory / (4 * sizeof(PageReferences)) &&
         all.bytes <= options_.max_bytes;
}

// SVG elements use href or, without it, xlink:href.
void ReferenceCollector::svg_element(Element element, const ElementAttributes& attributes) {
  if (element == Element::kStyle) return style(attributes);
  const auto attribute =
      attributes.has(Attribute::kHref) ? Attribute::kHref : Attribute::kXlinkHref;
  if (element == Element::kA) return add(LinkKind::kNavigation, element, attribute, attributes);
  // <use href="#shape"> refers to the page itself.
  if (only_a_fragment(attributes.get_or_empty(attribute))) return;
  add(LinkKind::kResource, element, attribute, attributes);
}

void ReferenceCollector::link(const ElementAttributes& attributes) {
  const std::string_view href = attributes.get_or_empty(Attribute::kHref);
  const LinkTypes types(attributes.get_or_empty(Attribute::kRel));
  if (types.canonical && !page_.canonical && !href.empty()) page_.canonical = href;
  const auto kind = types.kind();
  if (!kind) return;
  add(*kind, Element::kLink, Attribute::kHref, attributes);
  if (*kind == LinkKind::kResource) {
    add_srcset(Element::kLink, Attribute::kImagesrcset, attributes);
  }
}

void ReferenceCollector::meta(const ElementAttributes& attributes) {
  const auto content = attributes.get(Attribute::kContent);
  if (!content) return;
  if (const auto name = attributes.get(Attribute::kName)) {
    if (equal_in_any_case(*name, "robots") ||
        (!options_.agent.empty() && equal_in_any_case(*name, options_.agent))) {
      page_.robots |= parse_robots_meta(*content);
    }
  }
  const std::string_view pragma = attributes.get_or_empty(Attribute::kHttpEquiv);
  if (!page_.meta_language && equal_in_any_case(pragma, "content-language")) {
    if (const auto tag = language_tag(*content); !tag.empty()) page_.meta_language = tag;
  }
  if (page_.refresh || !equal_in_any_case(pragma, "refresh")) {
    return;
  }
  page_.refresh = parse_meta_refresh(*content);
  if (!page_.refresh || page_.refresh->url.empty()) return;
  add({.value = page_.refresh->url,
       .rel = {},
       .kind = LinkKind::kRefresh,
       .element = Element::kMeta,
       .attribute = Attribute::kContent});
}

// Forms are sent by GET unless they have another valid method.
void ReferenceCollector::form(const ElementAttributes& attributes) {
  const std::string_view method = attributes.get_or_empty(Attribute::kMethod);
  if (equal_in_any_case(method, "post") || equal_in_any_case(method, "dialog")) return;
  add(LinkKind::kForm, Element::kForm, Attribute::kAction, attributes);
}

void ReferenceCollector::style(const ElementAttributes& attributes) {
  const std::string_view type = attributes.get_or_empty(Attribute::kType);
  style_is_css_ = type.empty() || equal_in_any_case(type, "text/css");
}

// A script with `src` is not the text.
void ReferenceCollector::begin_script(const ElementAttributes& attributes) {
  const std::string_view type = media_type(attributes.get_or_empty(Attribute::kType));
  const bool is_json = is_json_media_type(type) || equal_in_any_case(type, "importmap");
  const bool is_script =
      !is_json && (type.empty() || equal_in_any_case(type, "module") || is_script_media_type(type));
  script_is_guessed_ = !attributes.has(Attribute::kSrc) &&
                       ((is_json && options_.guess_json) || (is_script && options_.guess_scripts));
}

void ReferenceCollector::script(std::string_view text) {
  if (!wants_scripts_ || !script_is_guessed_) return;
  UrlStrings urls(text, page_.made);
  while (const auto found = urls.next()) {
    if (page_.guesses == kMostGuesses) return;
    ++page_.guesses;
    add({.value = *found,
         .rel = {},
         .kind = LinkKind::kGuess,
         .element = Element::kScript,
         .attribute = Attribute::kContent});
    if (page_.too_large) return;
  }
}

void ReferenceCollector::style_sheet(std::string_view css) {
  if (wants_style_ && style_is_css_) add_css(css, CssSource::kStyleSheet, Element::kStyle);
}

void ReferenceCollector::inside_anchor(MarkupSpace space, std::string_view source) {
  if (anchor_reference_ >= page_.references.size()) return;
  const Reference& reference = page_.references[anchor_reference_];
  // Otherwise the <a> had no href, and this reference is another link, or of its style attribute.
  if (reference.element != Element::kA || reference.attribute == Attribute::kStyle) return;
  page_.anchors.push_back({.reference = anchor_reference_, .inside = source, .space = space});
}

bool ReferenceCollector::has_room() {
  // Approximate: strings in `made` are short, or no longer than their source.
  constexpr std::size_t kEach = 2 * sizeof(std::string);
  if (page_.made.size() >= options_.max_memory / (2 * kEach)) page_.too_large = true;
  return !page_.too_large;
}

void ReferenceCollector::title(std::string_view text) {
  if (page_.has_title) return;
  page_.has_title = true;
  std::string valid;
  CollapsedText(page_.title, kMaxTitle).add(replace_invalid_utf8(text, valid));
}

void ReferenceCollector::add(LinkKind kind, Element element, Attribute attribute,
                             const ElementAttributes& attributes) {
  const auto value = attributes.get(attribute);
  if (!value) return;
  // An empty href of <a> refers to the page itself; other empty references load nothing.
  if (value->empty() && kind != LinkKind::kNavigation) return;
  add({.value = *value,
       .rel = attributes.get_or_empty(Attribute::kRel),
       .kind = kind,
       .element = element,
       .attribute = attribute});
}

void ReferenceCollector::add(const Reference& reference) {
  if (!options_.kinds.has(reference.kind)) return;
  // Twice the size, since vectors grow by doubling.
  const std::size_t each =
      2 * (sizeof(Reference) + (wants_texts_ ? sizeof(AnchorSource) : 0)) + sizeof(Link);
  if (page_.references.size() >= options_.max_memory / each) {
    page_.too_large = true;
    return;
  }
  page_.references.push_back(reference);
}

void ReferenceCollector::add_srcset(Element element, Attribute attribute,
                                    const ElementAttributes& attributes) {
  if (!options_.kinds.has(LinkKind::kResource) || !attributes.has(attribute)) return;
  Srcset candidates(attributes.get_or_empty(attribute));
  while (const auto url = candidates.next()) {
    add({.value = *url,
         .rel = attributes.get_or_empty(Attribute::kRel),
         .kind = LinkKind::kResource,
         .element = element,
         .attribute = attribute});
    if (page_.too_large) return;
  }
}

void ReferenceCollector::add_lazy(Element element, const ElementAttributes& attributes) {
  if (!options_.lazy_images) return;
  const auto kind = element == Element::kIframe ? LinkKind::kDocument : LinkKind::kResource;
  for (const Attribute attribute : kLazy)
    add(kind, element, attribute, attributes);
  add_srcset(element, Attribute::kDataSrcset, attributes);
}

void ReferenceCollector::add_css(std::string_view css, CssSource source, Element element,
                                 Attribute attribute) {
  CssReferences urls(css, source, page_.made);
  while (const auto found = urls.next()) {
    add({.value = found->url,
         .rel = {},
         .kind = LinkKind::kResource,
         .element = element,
         .attribute = attribute});
    if (page_.too_large) return;
  }
}

}  // namespace trawl
