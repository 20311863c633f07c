#include "crawler/parse/html/page_references.h"

namespace trawl {

std::size_t PageReferences::memory() const noexcept {
  std::size_t bytes = references.capacity() * sizeof(Reference) + title.capacity() +
                      anchors.capacity() * sizeof(AnchorSource);
  for (const std::string& text : made)
    bytes += sizeof(text) + text.capacity();
  for (const PageReferences& document : nested)
    bytes += sizeof(document) + document.memory();
  return bytes;
}

void PageReferences::clear() {
  references.clear();
  anchors.clear();
  base.reset();
  canonical.reset();
  refresh.reset();
  robots = {};
  has_title = false;
  title.clear();
  language.reset();
  meta_language.reset();
  made.clear();
  nested.clear();
  guesses = 0;
  too_large = false;
}

}  // namespace trawl
