#include "crawler/parse/repeated_references.h"

namespace trawl {

namespace {

std::uint64_t kind_of(const Reference& reference) noexcept {
  return static_cast<std::uint64_t>(reference.kind) << 48 |
         static_cast<std::uint64_t>(reference.element) << 40 |
         static_cast<std::uint64_t>(reference.attribute) << 32 | (reference.rel.size() & 0xffff);
}

}  // namespace

void RepeatedReferences::begin(std::span<const Reference> references) {
  texts_.begin();
  references_ = references;
  links_.resize(references.size());
}

std::optional<std::uint32_t> RepeatedReferences::find(std::size_t i) noexcept {
  const Reference& reference = references_[i];
  const auto before = texts_.find(without_fragment(reference.value), kind_of(reference));
  if (!before) return std::nullopt;
  const Reference& other = references_[*before];
  if (other.kind != reference.kind || other.element != reference.element ||
      other.attribute != reference.attribute || other.rel != reference.rel) {
    return std::nullopt;
  }
  return links_[*before];
}

void RepeatedReferences::note(std::size_t i, std::uint32_t link) noexcept {
  texts_.note(static_cast<std::uint32_t>(i));
  links_[i] = link;
}

void RepeatedReferences::shrink(std::size_t ordinary) {
  references_ = {};
  if (links_.capacity() > ordinary) std::vector<std::uint32_t>().swap(links_);
}

}  // namespace trawl
