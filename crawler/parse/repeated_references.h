// RepeatedReferences: finds the references of a page that lead where one before them leads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "crawler/parse/html/page_references.h"
#include "crawler/parse/html/repeated_texts.h"

namespace trawl {

// On pages of documentation seven of ten references repeat one of the same page, most of them with
// another fragment. Comparing their bytes costs a tenth of resolving them.
class RepeatedReferences {
 public:
  RepeatedReferences() = default;
  RepeatedReferences(const RepeatedReferences&) = delete;
  RepeatedReferences& operator=(const RepeatedReferences&) = delete;

  // Starts a page. `references`, fewer than 2^32, stay as they are until the last find().
  void begin(std::span<const Reference> references);
  // The link passed to note() for a reference that differs from the i-th at most in its fragment.
  std::optional<std::uint32_t> find(std::size_t i) noexcept;
  // Notes that the i-th reference, that of the last find(), became the page's link `link`.
  void note(std::size_t i, std::uint32_t link) noexcept;
  // Ends a page, and frees memory if it had more than `ordinary` references.
  void shrink(std::size_t ordinary);

 private:
  RepeatedTexts texts_;  // with the number of the reference
  std::span<const Reference> references_;
  std::vector<std::uint32_t> links_;  // for each reference that was noted
};

}  // namespace trawl
