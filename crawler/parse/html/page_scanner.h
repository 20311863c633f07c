// PageScanner: finds the elements of a page in one pass over its tokens, without building a tree.
//
// It implements the parts of tree construction that decide whether a tag makes an element of the
// document, and how the text after it is read: templates, select, nested forms, SVG and MathML. If
// a page breaks the rules in a way that only the whole tree can resolve (a table in an SVG image, a
// link in a select, a frameset), the scanner continues with a guess and returns kNeedsTree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "crawler/parse/html/character_references.h"
#include "crawler/parse/html/element.h"
#include "crawler/parse/html/html_tokenizer.h"
#include "crawler/parse/html/page_references.h"
#include "crawler/parse/html/reference_collector.h"
#include "crawler/parse/html/repeated_texts.h"
#include "crawler/parse/html/tag_filter.h"

namespace trawl {

class PageScanner {
 public:
  enum class Verdict : std::uint8_t {
    kExact,      // the same as by the HTML Standard's tree
    kNeedsTree,  // may differ from the tree
  };

  // With `skips_tags` set, which is only faster, tags that cannot matter are not looked at.
  explicit PageScanner(bool skips_tags = true) : skips_tags_(skips_tags) {}

  // Reports the elements of `html` in source order to `collector`, which fills `page`. Values are
  // views into `html` or `page`. Takes linear time.
  Verdict scan(std::string_view html, ReferenceCollector& collector, PageReferences& page);

 private:
  // An open element of SVG or MathML.
  struct Foreign {
    std::string_view name;  // as written
    Element element;
    bool integration_point;  // its start tags make HTML elements
  };

  // An <a> whose text is wanted.
  struct Anchor {
    std::size_t inside;  // end of its start tag
    MarkupSpace space;
  };

  void choose_tags();
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
  bool may_have_presentation(MarkupSpace space) const noexcept;
  void read_attributes();
  std::optional<std::string_view> repeatable_target() const noexcept;
  std::string_view decoded(std::string_view raw, ReferenceContext context);
  std::string_view valid(std::string_view text);

  const bool skips_tags_;
  HtmlTokenizer tokens_;
  TagFilter wanted_tags_;  // of HTML: the others make no references and change no state
  ElementAttributes attributes_;
  ReferenceCollector* collector_ = nullptr;
  PageReferences* page_ = nullptr;
  std::string_view html_;

  std::optional<TokenKind> waiting_tag_;  // a tag that the tokenizer has already returned
  std::vector<Foreign> foreign_;          // from <svg> or <math> inwards
  MarkupSpace foreign_space_ = MarkupSpace::kSvg;
  std::vector<bool> shown_templates_;       // for each open template, whether it is a shadow root
  std::size_t hidden_templates_ = 0;        // number of open ones that are not
  std::unique_ptr<RepeatedTexts> targets_;  // of <a>, as written; null: each is reported
  std::vector<Element> tables_;   // for each open table, its open cell or caption; kOther: none
  std::optional<Anchor> anchor_;  // the last
  bool in_select_ = false;
  bool form_is_open_ = false;
  bool seen_body_ = false;
  bool needs_tree_ = false;
};

}  // namespace trawl
