// ReferenceCollector: decides which attributes of an element are references, and of which kind.
// Both engines report elements to it, so their results differ only if their trees do.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <string_view>

#include "trawl/links.h"

#include "crawler/parse/css/css_references.h"
#include "crawler/parse/html/element.h"
#include "crawler/parse/html/page_references.h"

namespace trawl {

class ReferenceCollector {
 public:
  // Adds the references that `options` selects (kinds and agent) to `page`. Both must outlive the
  // collector.
  ReferenceCollector(const LinkOptions& options, PageReferences& page);

  // Whether element() would use such an element; if not, its attributes need not be parsed.
  // `has_style`: it has a style attribute.
  bool wants(MarkupSpace space, Element element) const noexcept {
    return wanted_[static_cast<std::size_t>(space)][static_cast<std::size_t>(element)];
  }
  bool wants_style_attributes() const noexcept { return wants_style_; }
  // Whether inside_anchor() has an effect.
  bool wants_texts() const noexcept { return wants_texts_; }
  // Whether style_sheet() has an effect.
  bool wants_style_sheets() const noexcept { return wants_style_; }
  // Whether script() has an effect.
  bool wants_scripts() const noexcept { return wants_scripts_; }
  // Whether an <a> that leads where one before it leads may be counted there (Reference::times)
  // instead of being passed to element(): nothing else of it is wanted, such as its style or how it
  // was written, and it is not in a srcdoc, of which there may be many.
  bool counts_repeats() const noexcept {
    return options_.distinct && !options_.dropped && !wants_style_ && srcdoc_depth_ == 0;
  }
  // Whether the references still fit into the memory limit of `options`; if not, sets
  // PageReferences::too_large.
  bool has_room();
  // Whether title() has an effect: only the page's first title is used.
  bool wants_title() const noexcept { return !page_.has_title; }

  // Takes an element of the document, in source order. The attribute values must stay valid as long
  // as `page`.
  void element(MarkupSpace space, Element element, const ElementAttributes& attributes);
  // Takes the source of the <a> passed to element() last, from after its start tag to the next <a>
  // of the document or the page's end. It must stay valid.
  void inside_anchor(MarkupSpace space, std::string_view source);
  // Takes the decoded text of an HTML <title>.
  void title(std::string_view text);
  // Takes the text of a <style> element, of HTML or (decoded) of SVG; it must stay valid. Call
  // after element() for the same element, whose type attribute decides whether it is CSS.
  void style_sheet(std::string_view css);
  // Takes the text of an HTML <script> element in the same way.
  void script(std::string_view text);

 private:
  // Documents in srcdoc attributes of a page, at any depth.
  struct Srcdocs {
    std::size_t documents = 0;
    std::size_t bytes = 0;
  };

  void html_element(Element element, const ElementAttributes& attributes);
  void svg_element(Element element, const ElementAttributes& attributes);
  void presentation(Element element, const ElementAttributes& attributes);
  void link(const ElementAttributes& attributes);
  void meta(const ElementAttributes& attributes);
  void form(const ElementAttributes& attributes);
  void style(const ElementAttributes& attributes);
  void begin_script(const ElementAttributes& attributes);
  void frame(Element element, const ElementAttributes& attributes);
  void srcdoc(std::string_view html);
  // Counts another document of a srcdoc attribute; false if the page has too many.
  bool has_room_for_srcdoc(std::string_view html);

  // Leaves out kinds not in options_.kinds, empty references, and those beyond the limit.
  void add(LinkKind kind, Element element, Attribute attribute,
           const ElementAttributes& attributes);
  void add(const Reference& reference);
  void add_srcset(Element element, Attribute attribute, const ElementAttributes& attributes);
  void add_css(std::string_view css, CssSource source, Element element,
               Attribute attribute = Attribute::kStyle);
  void add_lazy(Element element, const ElementAttributes& attributes);

  const LinkOptions& options_;
  PageReferences& page_;
  const bool wants_style_;
  const bool wants_texts_;
  const bool wants_scripts_;
  std::array<std::bitset<kElements>, 3> wanted_;  // by MarkupSpace
  bool style_is_css_ = true;
  bool script_is_guessed_ = false;
  bool body_has_background_ = false;
  unsigned srcdoc_depth_ = 0;         // documents in srcdoc attributes around this one
  Srcdocs srcdocs_;                   // of the page
  Srcdocs* page_srcdocs_ = nullptr;   // those of the page around a nested document
  std::size_t anchor_reference_ = 0;  // index of the last <a>'s reference, if it has one
};

}  // namespace trawl
