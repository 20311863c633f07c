// RepeatedReferences: finds the references of a page that lead where one before them leads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
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

  // Starts a page.
  void begin() noexcept;
  // The link passed to note() for a reference that differs from this one at most in its fragment.
  std::optional<std::uint32_t> find(const Reference& reference);
  // Notes that the reference of the last find() became the page's link `link`.
  void note(std::uint32_t link) noexcept;

 private:
  static constexpr std::size_t kPlaces = 1024;

  struct Place {
    Reference reference;
    std::uint32_t page = 0;  // which page's it is; 0: of none
    std::uint32_t link = 0;
  };

  std::array<Place, kPlaces> places_;
  std::uint32_t page_ = 0;
  Reference asked_;
  Place* place_ = nullptr;  // of `asked_`
};

}  // namespace trawl
