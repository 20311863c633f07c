// AnchorTextReader: the text of an <a>, by the tags that stand in its source.
//
// The engines tell where it begins, and where the next <a> of the document does, which ends it. All
// else is decided here, for both alike, without a tree: it ends at </a>, at the end of the table
// cell or the like around it, or with the page.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "crawler/parse/html/character_references.h"
#include "crawler/parse/html/collapsed_text.h"
#include "crawler/parse/html/element.h"
#include "crawler/parse/html/page_references.h"
#include "crawler/parse/html/tokenizer.h"

namespace trawl {

class AnchorTextReader {
 public:
  // The text of the anchor at `source`, as Link::text has it, into `text`. Takes time linear in the
  // size of the source at most, a few KiB of memory.
  void read(const AnchorSource& source, std::string& text);

 private:
  // What stands open since the start tag of the anchor.
  struct Open {
    std::size_t foreign = 0;  // <svg> and <math>
    std::size_t tables = 0;
    std::size_t objects = 0;           // and what else keeps an <a> inside, but for tables
    std::size_t shadow_roots = 0;      // <template>s whose contents are shown
    std::size_t hidden_templates = 0;  // and all <template>s in them
    bool raw_text = false;             // an element of HTML whose text is no markup
    Element silent = Element::kOther;  // a <script> or <style> of SVG
  };

  // These return whether the anchor goes on.
  bool start_tag(CollapsedText& text);
  bool start_html(Element element);
  bool end_tag(CollapsedText& text);
  bool end_html(Element element);
  bool end_template();
  void start_template();
  // Whether text counts where the reader is.
  bool is_shown() const noexcept;
  std::optional<std::string_view> attribute(std::string_view name) const noexcept;
  // `context` is that of character references, if they mean something.
  using Context = std::optional<ReferenceContext>;
  void add(std::string_view raw, Context context, CollapsedText& text);
  void add_piece(std::string_view raw, Context context, CollapsedText& text);

  HtmlTokenizer tokens_;
  Open open_;
  bool in_svg_ = false;  // the anchor itself
  std::string decoded_;
  std::string valid_;
};

}  // namespace trawl
