// RepeatedReferences: finds the references of a page that lead where one before them leads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "crawler/parse/html/page_references.h"

namespace trawl {

// On pages of documentation seven of ten references repeat one of the same page, most of them with
// another fragment. Comparing their bytes costs a tenth of resolving them. A table of fixed size,
// in which new references replace old ones, so that some repeats of large pages are not found.
class RepeatedReferences {
 public:
  RepeatedReferences() = default;
  RepeatedReferences(const RepeatedReferences&) = delete;
  RepeatedReferences& operator=(const RepeatedReferences&) = delete;

  // Starts a page. `references`, fewer than 2^32, stay as they are until the last find().
  void begin(std::span<const Reference> references) noexcept;
  // The link passed to note() for a reference that differs from the i-th at most in its fragment.
  std::optional<std::uint32_t> find(std::size_t i) noexcept;
  // Notes that the reference of the last find() became the page's link `link`.
  void note(std::uint32_t link) noexcept;

 private:
  static constexpr std::size_t kPlaces = 1024;
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  // Small, so that the table stays in the first-level cache.
  struct Place {
    std::uint32_t hash = 0;           // the bits that did not choose the place
    std::uint32_t reference = kNone;  // index into `references_`
    std::uint32_t size = 0;           // of its value without the fragment
    std::uint32_t link = 0;
  };

  bool leads_to(const Place& place, const Reference& reference, std::string_view target) const;

  std::array<Place, kPlaces> places_;
  std::span<const Reference> references_;
  Place asked_;             // what the last find() looked for
  Place* place_ = nullptr;  // where it belongs
};

}  // namespace trawl
