// PageScanner: the elements of a page in one pass over its tokens, without building its tree.
//
// Of tree construction it does what decides whether a tag is an element of the document and how
// the text behind it is read: templates, select, nested forms, SVG and MathML. Where a page breaks
// the rules in a way only the whole tree can answer (a table in an SVG image, a link in a select,
// a frameset), it goes on as best it can and says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "crawler/parse/html/character_references.h"
#include "crawler/parse/html/element.h"
#include "crawler/parse/html/page_references.h"
#include "crawler/parse/html/reference_collector.h"
#include "crawler/parse/html/tokenizer.h"

namespace trawl {

class PageScanner {
 public:
  enum class Verdict : std::uint8_t {
    kExact,      // what the HTML Standard's tree would give
    kNeedsTree,  // may differ from it
  };

  // Reports the elements of `html` to `collector`, which fills `page`, in the order of the source.
  // Their values are views into `html` or `page`. Takes linear time.
  Verdict scan(std::string_view html, ReferenceCollector& collector, PageReferences& page);

 private:
  // An open element of SVG or MathML.
  struct Foreign {
    std::string_view name;  // as written
    Element element;
    bool integration_point;  // start tags in it make elements of HTML
  };

  // An <a> whose text is wanted.
  struct Anchor {
    std::size_t inside;  // where its start tag ends
    MarkupSpace space;
  };

  TokenKind next_tag();
  void start_tag();
  void end_tag();
  void start_html(Element element);
  bool start_in_select(Element element);
  bool is_ignored(Element element);
  void start_template();
  void start_table();
  void start_foreign(Element element);
  void end_table_part(Element element);
  void end_foreign();
  void open_foreign(Element element);
  void read_raw_text(Element element);
  void read_svg_style();
  bool in_document() const noexcept { return hidden_templates_ == 0; }
  void report(MarkupSpace space, Element element);
  void end_anchor(std::size_t offset);
  bool has_style_attribute() const noexcept;
  void read_attributes();
  std::string_view decoded(std::string_view raw, ReferenceContext context);
  std::string_view valid(std::string_view text);

  HtmlTokenizer tokens_;
  ElementAttributes attributes_;
  ReferenceCollector* collector_ = nullptr;
  PageReferences* page_ = nullptr;
  std::string_view html_;

  std::optional<TokenKind> waiting_tag_;  // the tokenizer has it already
  std::vector<Foreign> foreign_;          // from the <svg> or <math> down
  MarkupSpace foreign_space_ = MarkupSpace::kSvg;
  std::vector<bool> shown_templates_;  // of the open ones, whether it is a shadow root
  std::size_t hidden_templates_ = 0;   // of them
  std::vector<Element> tables_;        // of the open ones, the open cell or caption; kOther: none
  std::optional<Anchor> anchor_;       // the last
  bool in_select_ = false;
  bool form_is_open_ = false;
  bool seen_body_ = false;
  bool needs_tree_ = false;
};

}  // namespace trawl
