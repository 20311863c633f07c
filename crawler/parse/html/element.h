// The names of elements and attributes that mean something to link extraction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace trawl {

// Which vocabulary an element belongs to; <a> is another thing in SVG.
enum class MarkupSpace : std::uint8_t { kHtml, kSvg, kMathMl };

// TRAWL_ELEMENTS(X) lists X(enumerator, "name") for every element of HTML, obsolete ones included,
// and those of SVG and MathML that links or tree construction depend on. Names in lower case.
#include "crawler/parse/html/element_names.inc"

enum class Element : std::uint8_t {
  kOther,  // none of the below
#define TRAWL_ENUMERATOR(name, text) name,
  TRAWL_ELEMENTS(TRAWL_ENUMERATOR)
#undef TRAWL_ENUMERATOR
};
#define TRAWL_COUNT(name, text) +1
inline constexpr std::size_t kElements = 1 TRAWL_ELEMENTS(TRAWL_COUNT);  // with kOther
#undef TRAWL_COUNT

// By a name as it stands in a page, in any case. Takes a few nanoseconds.
Element find_element(std::string_view name) noexcept;
// "a"; "*" for kOther. Lives as long as the program.
std::string_view to_string(Element element) noexcept;

// Parts of a table, which are no elements outside of one.
constexpr bool is_table_part(Element element) noexcept {
  switch (element) {
    case Element::kCaption:
    case Element::kCol:
    case Element::kColgroup:
    case Element::kTbody:
    case Element::kTd:
    case Element::kTfoot:
    case Element::kTh:
    case Element::kThead:
    case Element::kTr:
      return true;
    default:
      return false;
  }
}

// Attributes that hold links or decide what a link is.
enum class Attribute : std::uint8_t {
  kHref,
  kXlinkHref,
  kSrc,
  kSrcset,
  kImagesrcset,
  kPoster,
  kData,
  kAction,
  kMethod,
  kCite,
  kRel,
  kType,
  kName,
  kHttpEquiv,
  kContent,
  kCharset,
  kStyle,
  kMedia,
  kEncoding,
  kColor,
  kFace,
  kSize,
};
inline constexpr std::size_t kAttributes = 22;

// By a name as it stands in a page ("xlink:href" is kXlinkHref), in any case; nothing if it is none
// of the above.
std::optional<Attribute> find_attribute(std::string_view name) noexcept;
std::string_view to_string(Attribute attribute) noexcept;

// Those attributes of one element, their character references decoded.
class ElementAttributes {
 public:
  void clear() noexcept { present_ = 0; }
  // The first of a name counts.
  void add(Attribute attribute, std::string_view value) noexcept {
    if (!has(attribute)) values_[static_cast<std::size_t>(attribute)] = value;
    present_ |= bit(attribute);
  }
  bool has(Attribute attribute) const noexcept { return (present_ & bit(attribute)) != 0; }
  std::optional<std::string_view> get(Attribute attribute) const noexcept {
    if (!has(attribute)) return std::nullopt;
    return values_[static_cast<std::size_t>(attribute)];
  }
  std::string_view get_or_empty(Attribute attribute) const noexcept {
    return has(attribute) ? values_[static_cast<std::size_t>(attribute)] : std::string_view();
  }

 private:
  static constexpr std::uint32_t bit(Attribute attribute) noexcept {
    return std::uint32_t{1} << static_cast<unsigned>(attribute);
  }
  std::uint32_t present_ = 0;
  std::array<std::string_view, kAttributes> values_;
};

}  // namespace trawl
