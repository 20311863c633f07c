// ReferenceCollector: which of an element's attributes are references, and of which kind. Both
// engines report the elements of the document to it, so that they differ in the tree only.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <string_view>

#include "trawl/links.h"

#include "crawler/parse/html/css_references.h"
#include "crawler/parse/html/element.h"
#include "crawler/parse/html/page_references.h"

namespace trawl {

class ReferenceCollector {
 public:
  // Adds to `page` what `options` (its kinds and agent) ask for. All three outlive the collector.
  ReferenceCollector(const LinkOptions& options, PageReferences& page);

  // Whether element() could do anything with such an element: what the attributes of others are
  // need not be known. `has_style` tells of a style attribute.
  bool wants(MarkupSpace space, Element element) const noexcept {
    return wanted_[static_cast<std::size_t>(space)][static_cast<std::size_t>(element)];
  }
  bool wants_style_attributes() const noexcept { return wants_style_; }
  // Whether inside_anchor() would do anything.
  bool wants_texts() const noexcept { return wants_texts_; }
  // Whether style_sheet() would do anything.
  bool wants_style_sheets() const noexcept { return wants_style_; }
  // Whether the page has not yet needed more memory for what it says than `options` allows; if it
  // has, PageReferences::too_large is set.
  bool has_room();
  // Whether title() would: the page's first title counts.
  bool wants_title() const noexcept { return !page_.has_title; }

  // An element of the document, in the order of the source. The attributes' values stay where they
  // are as long as `page`.
  void element(MarkupSpace space, Element element, const ElementAttributes& attributes);
  // The source behind the start tag of the <a> that element() was told last, up to the next <a> of
  // the document or the page's end. It stays where it is.
  void inside_anchor(MarkupSpace space, std::string_view source);
  // The text of a <title> of HTML, decoded.
  void title(std::string_view text);
  // The text of a <style> element, of HTML or (decoded) of SVG; it stays where it is. Comes behind
  // element() of the same element, whose type tells whether it is CSS.
  void style_sheet(std::string_view css);

 private:
  void html_element(Element element, const ElementAttributes& attributes);
  void svg_element(Element element, const ElementAttributes& attributes);
  void link(const ElementAttributes& attributes);
  void meta(const ElementAttributes& attributes);
  void form(const ElementAttributes& attributes);
  void style(const ElementAttributes& attributes);

  // What is not in options_.kinds, or empty, or one too many, is left out.
  void add(LinkKind kind, Element element, Attribute attribute,
           const ElementAttributes& attributes);
  void add(const Reference& reference);
  void add_srcset(Element element, Attribute attribute, const ElementAttributes& attributes);
  void add_css(std::string_view css, CssSource source, Element element);

  const LinkOptions& options_;
  PageReferences& page_;
  const bool wants_style_;
  const bool wants_texts_;
  std::array<std::bitset<kElements>, 3> wanted_;  // by MarkupSpace
  bool style_is_css_ = true;
  std::size_t anchor_reference_ = 0;  // where that of the last <a> is, if it has one
};

}  // namespace trawl
