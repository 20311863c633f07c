// PageTextReader: reads the text of a page, as a reader sees it.
//
// It works on tokens, so both engines have the same text: what is hidden is decided by the elements
// that hold it (scripts, style sheets, templates, form fields), not by style sheets.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "crawler/parse/html/collapsed_text.h"
#include "crawler/parse/html/element.h"
#include "crawler/parse/html/html_tokenizer.h"
#include "crawler/parse/html/text_decoder.h"

namespace trawl {

class PageTextReader {
 public:
  // Stores at most `limit` bytes of the text of `html` in `text`, in the form of PageLinks::text.
  // Takes linear time.
  void read(std::string_view html, std::size_t limit, std::string& text);

 private:
  // These return whether the page goes on.
  bool start_tag(CollapsedText& text);
  void end_tag(CollapsedText& text);
  bool is_shown() const noexcept {
    return hidden_templates_ == 0 && !raw_text_ && silent_ == Element::kOther;
  }

  HtmlTokenizer tokens_;
  TextDecoder decoder_;
  std::size_t foreign_ = 0;           // open <svg> and <math>
  std::size_t hidden_templates_ = 0;  // open <template>s, but those of shadow roots
  bool raw_text_ = false;             // in an HTML element whose content is raw text
  Element silent_ = Element::kOther;  // an open <script> or <style> of SVG
};

}  // namespace trawl
