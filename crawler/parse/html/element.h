// The names of elements and attributes used for link extraction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace trawl {

// The namespace of an element; for example <a> differs between HTML and SVG.
enum class MarkupSpace : std::uint8_t { kHtml, kSvg, kMathMl };

// TRAWL_ELEMENTS(X) lists X(enumerator, "name") for every element of HTML, including obsolete ones,
// and for those of SVG and MathML on which links or tree construction depend. Names are in lower
// case.
#include "crawler/parse/html/element_names.inc"

enum class Element : std::uint8_t {
  kOther,  // any other element
#define TRAWL_ENUMERATOR(name, text) name,
  TRAWL_ELEMENTS(TRAWL_ENUMERATOR)
#undef TRAWL_ENUMERATOR
};
#define TRAWL_COUNT(name, text) +1
inline constexpr std::size_t kElements = 1 TRAWL_ELEMENTS(TRAWL_COUNT);  // including kOther
#undef TRAWL_COUNT

// Finds an element by its name in a page, ignoring case. Takes a few nanoseconds.
Element find_element(std::string_view name) noexcept;
// "a"; "*" for kOther. Valid forever.
std::string_view to_string(Element element) noexcept;

// Parts of a table, which are ignored outside of a table.
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

// Block elements, and <br>.
constexpr bool breaks_line(Element element) noexcept {
  switch (element) {
    case Element::kAddress:
    case Element::kArticle:
    case Element::kAside:
    case Element::kBlockquote:
    case Element::kBr:
    case Element::kCaption:
    case Element::kCenter:
    case Element::kDd:
    case Element::kDetails:
    case Element::kDialog:
    case Element::kDir:
    case Element::kDiv:
    case Element::kDl:
    case Element::kDt:
    case Element::kFieldset:
    case Element::kFigcaption:
    case Element::kFigure:
    case Element::kFooter:
    case Element::kForm:
    case Element::kH1:
    case Element::kH2:
    case Element::kH3:
    case Element::kH4:
    case Element::kH5:
    case Element::kH6:
    case Element::kHeader:
    case Element::kHgroup:
    case Element::kHr:
    case Element::kLegend:
    case Element::kLi:
    case Element::kListing:
    case Element::kMain:
    case Element::kMenu:
    case Element::kNav:
    case Element::kOl:
    case Element::kOptgroup:
    case Element::kOption:
    case Element::kP:
    case Element::kPre:
    case Element::kSearch:
    case Element::kSection:
    case Element::kSelect:
    case Element::kSummary:
    case Element::kTable:
    case Element::kTbody:
    case Element::kTd:
    case Element::kTfoot:
    case Element::kTh:
    case Element::kThead:
    case Element::kTr:
    case Element::kUl:
      return true;
    default:
      return false;
  }
}

// Attributes that hold links, determine the kind of a link, or name a language.
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
  kLang,
  kBackground,
  kSrcdoc,
  kDataSrc,
  kDataSrcset,
  kDataOriginal,
  kDataLazySrc,
  kDataPoster,
  kFill,
  kStroke,
  kFilter,
  kMask,
  kClipPath,
  kMarkerStart,
  kMarkerMid,
  kMarkerEnd,
  kCursor,
};
inline constexpr std::size_t kAttributes = 39;

// Finds an attribute by its name in a page ("xlink:href" is kXlinkHref), ignoring case; nothing for
// other names.
std::optional<Attribute> find_attribute(std::string_view name) noexcept;
std::string_view to_string(Attribute attribute) noexcept;

// The values of these attributes of one element, with character references decoded.
class ElementAttributes {
 public:
  void clear() noexcept { present_ = 0; }
  // If an attribute is repeated, the first value is used.
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
  static constexpr std::uint64_t bit(Attribute attribute) noexcept {
    return std::uint64_t{1} << static_cast<unsigned>(attribute);
  }
  std::uint64_t present_ = 0;
  std::array<std::string_view, kAttributes> values_;
};

}  // namespace trawl
