#include "crawler/parse/html/page_references.h"

#include "base/ascii.h"

namespace trawl {

std::string_view without_fragment(std::string_view reference) noexcept {
  const std::string_view before = reference.substr(0, reference.find('#'));
  const bool ends_here =
      before.size() == reference.size() || before.empty() || !is_c0_control_or_space(before.back());
  return ends_here ? before : reference;
}

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
