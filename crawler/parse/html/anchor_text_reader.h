// AnchorTextReader: reads the text of an <a> from its source.
//
// The engines report where the <a> begins, and where the next <a> of the document begins, which
// ends it. The rest is decided here, the same for both engines, without a tree: the text ends at
// </a>, at the end of the enclosing table cell or similar element, or at the end of the page.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "crawler/parse/html/collapsed_text.h"
#include "crawler/parse/html/element.h"
#include "crawler/parse/html/html_tokenizer.h"
#include "crawler/parse/html/page_references.h"
#include "crawler/parse/html/text_decoder.h"

namespace trawl {

class AnchorTextReader {
 public:
  // Stores the text of the anchor at `source` in `text`, in the form of Link::text. Takes at most
  // linear time, and a few KiB of memory.
  void read(const AnchorSource& source, std::string& text);

 private:
  // Elements opened since the anchor's start tag.
  struct Open {
    std::size_t foreign = 0;  // <svg> and <math>
    std::size_t tables = 0;
    std::size_t objects = 0;           // and other elements that contain an <a>, except tables
    std::size_t shadow_roots = 0;      // <template>s with visible contents
    std::size_t hidden_templates = 0;  // other <template>s, and all inside them
    bool raw_text = false;             // in an HTML element whose content is raw text
    Element silent = Element::kOther;  // a <script> or <style> of SVG
  };

  // These return whether the anchor continues.
  bool start_tag(CollapsedText& text);
  bool start_html(Element element);
  bool end_tag(CollapsedText& text);
  bool end_html(Element element);
  bool end_template();
  void start_template();
  // Whether text at the current position is visible.
  bool is_shown() const noexcept;
  std::optional<std::string_view> attribute(std::string_view name) const noexcept;

  HtmlTokenizer tokens_;
  Open open_;
  bool in_svg_ = false;  // the anchor itself is in SVG
  TextDecoder decoder_;
};

}  // namespace trawl
