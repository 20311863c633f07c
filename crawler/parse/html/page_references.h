// PageReferences: the references that an engine found in a page, before URLs are resolved.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/links.h"

#include "crawler/parse/html/element.h"

namespace trawl {

// A value that may become a link. Views point into the page or into PageReferences::made, and are
// valid UTF-8.
struct Reference {
  std::string_view value;
  std::string_view rel;
  LinkKind kind = LinkKind::kNavigation;
  Element element = Element::kOther;
  Attribute attribute = Attribute::kHref;
  std::uint32_t times = 1;  // how many of the page it stands for: see counts_repeats()

  friend bool operator==(const Reference&, const Reference&) = default;
};

// The part of a reference that names the resource: without the fragment. White space is removed at
// the end of a reference, but belongs to the URL in front of a fragment.
std::string_view without_fragment(std::string_view reference) noexcept;

// The source of the text of an <a>.
struct AnchorSource {
  std::size_t reference;    // index into PageReferences::references
  std::string_view inside;  // from after its start tag to the next <a> or the page's end
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
  std::optional<std::string> language;       // of <html lang>; empty: not a language tag
  std::optional<std::string> meta_language;  // of <meta http-equiv=content-language>
  // Texts that are not in the page in this form: decoded values, unescaped URLs of style sheets.
  std::deque<std::string> made;
  // What documents in srcdoc attributes have; their references are among those of the page.
  std::list<PageReferences> nested;
  std::size_t guesses = 0;  // those of LinkKind::kGuess
  // References and their Links exceed LinkOptions::max_memory; the rest was dropped.
  bool too_large = false;

  // Approximate size in bytes.
  std::size_t memory() const noexcept;
  // Clears the contents, keeps the buffers.
  void clear();
};

}  // namespace trawl
