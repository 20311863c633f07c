// RepeatedTexts: finds the texts of a page that came before, in a table of fixed size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace trawl {

// New texts replace old ones, so that some repeats of large pages are not found.
class RepeatedTexts {
 public:
  RepeatedTexts() = default;
  RepeatedTexts(const RepeatedTexts&) = delete;
  RepeatedTexts& operator=(const RepeatedTexts&) = delete;

  // Starts a page.
  void begin() noexcept;
  // The number noted for the same text, which may be that of another `kind`: equal texts of two
  // kinds mostly have places of their own. `text` stays valid until the next page.
  std::optional<std::uint32_t> find(std::string_view text, std::uint64_t kind = 0) noexcept;
  // Notes a number for the text of the last find().
  void note(std::uint32_t number) noexcept;

 private:
  static constexpr std::size_t kPlaces = 1024;

  // Small, so that the table stays in the first-level cache.
  struct Place {
    const char* text = nullptr;  // null: none
    std::uint32_t size = 0;
    std::uint32_t hash = 0;  // the bits that did not choose the place
    std::uint32_t number = 0;
  };

  std::array<Place, kPlaces> places_;
  Place asked_;             // the last find()
  Place* place_ = nullptr;  // where it belongs
};

}  // namespace trawl
