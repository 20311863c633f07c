// TextDecoder: decodes text of a page, as far as it fits.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "crawler/parse/html/character_references.h"
#include "crawler/parse/html/collapsed_text.h"

namespace trawl {

// Reuses its buffers.
class TextDecoder {
 public:
  // Adds `raw`, text of a page in UTF-8 or other bytes, to `text`. `context`: of character
  // references; none if they are not decoded. Invalid UTF-8 becomes U+FFFD.
  void add(std::string_view raw, std::optional<ReferenceContext> context, CollapsedText& text);

 private:
  void add_piece(std::string_view raw, std::optional<ReferenceContext> context,
                 CollapsedText& text);

  std::string decoded_;
  std::string valid_;
};

}  // namespace trawl
