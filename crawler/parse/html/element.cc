#include "crawler/parse/html/element.h"

#include "crawler/parse/html/name_table.h"

namespace trawl {
namespace {

constexpr std::string_view kElementTexts[] = {"*",
#define TRAWL_TEXT(name, text) text,
                                              TRAWL_ELEMENTS(TRAWL_TEXT)
#undef TRAWL_TEXT
};
static_assert(std::size(kElementTexts) == kElements);

constexpr auto kElementNames = [] {
  std::array<std::string_view, kElements - 1> names;
  std::copy_n(std::begin(kElementTexts) + 1, names.size(), names.begin());
  return names;
}();
constexpr NameTable<kElementNames.size(), 11> kElementTable(kElementNames);

// In the order of Attribute.
constexpr std::array<std::string_view, kAttributes> kAttributeNames = {
    "href",       "xlink:href", "src",         "srcset",        "imagesrcset",   "poster",
    "data",       "action",     "method",      "cite",          "rel",           "type",
    "name",       "http-equiv", "content",     "charset",       "style",         "media",
    "encoding",   "color",      "face",        "size",          "lang",          "background",
    "srcdoc",     "data-src",   "data-srcset", "data-original", "data-lazy-src", "data-poster",
    "fill",       "stroke",     "filter",      "mask",          "clip-path",     "marker-start",
    "marker-mid", "marker-end", "cursor",
};
constexpr NameTable<kAttributes, 7> kAttributeTable(kAttributeNames);

}  // namespace

Element find_element(std::string_view name) noexcept {
  const auto index = kElementTable.find(name);
  return index ? static_cast<Element>(*index + 1) : Element::kOther;
}

std::string_view to_string(Element element) noexcept {
  return kElementTexts[static_cast<std::size_t>(element)];
}

std::optional<Attribute> find_attribute(std::string_view name) noexcept {
  const auto index = kAttributeTable.find(name);
  if (!index) return std::nullopt;
  return static_cast<Attribute>(*index);
}

std::string_view to_string(Attribute attribute) noexcept {
  return kAttributeNames[static_cast<std::size_t>(attribute)];
}

}  // namespace trawl
