// PageReferences: what an engine found in a page, before any URL is resolved.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/links.h"

#include "crawler/parse/html/element.h"

namespace trawl {

// A value that may become a link. Views are into the page or into PageReferences::made; what they
// show is valid UTF-8.
struct Reference {
  std::string_view value;
  std::string_view rel;
  LinkKind kind = LinkKind::kNavigation;
  Element element = Element::kOther;
  Attribute attribute = Attribute::kHref;
};

// Where the text of an <a> is.
struct AnchorSource {
  std::size_t reference;    // of PageReferences::references
  std::string_view inside;  // from behind its start tag to the next <a>, or the page's end
  MarkupSpace space;
};

struct PageReferences {
  struct Refresh {
    std::chrono::seconds delay{0};
    std::string_view url;  // empty: the page itself
  };

  std::vector<Reference> references;  // in the order of the source
  std::vector<AnchorSource> anchors;  // in the same order, if LinkOptions::texts
  std::optional<std::string_view> base;
  std::optional<std::string_view> canonical;
  std::optional<Refresh> refresh;
  RobotsDirectives robots;
  bool has_title = false;
  std::string title;
  // Text that stands nowhere in the page as it is: decoded values, unescaped URLs of style sheets.
  std::deque<std::string> made;
  // There are more references than LinkOptions::max_memory has room for with their Links; the rest
  // is not here.
  bool too_large = false;

  // About how many bytes all this takes.
  std::size_t memory() const noexcept;
  // Forgets the last page, keeps the buffers.
  void clear();
};

}  // namespace trawl
