#include "crawler/parse/html/element.h"

#include <cctype>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/ascii.h"
#include "tests/support/random_text.h"

namespace trawl {
namespace {

Element element_by_plain_loop(std::string_view name) {
  for (std::size_t i = 1; i < kElements; ++i)
    if (to_string(static_cast<Element>(i)) == to_lower(name)) return static_cast<Element>(i);
  return Element::kOther;
}

std::optional<Attribute> attribute_by_plain_loop(std::string_view name) {
  for (std::size_t i = 0; i < kAttributes; ++i)
    if (to_string(static_cast<Attribute>(i)) == to_lower(name)) return static_cast<Attribute>(i);
  return std::nullopt;
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (std::size_t i = 1; i < kElements; ++i)
    names.emplace_back(to_string(static_cast<Element>(i)));
  for (std::size_t i = 0; i < kAttributes; ++i)
    names.emplace_back(to_string(static_cast<Attribute>(i)));
  return names;
}

// Looks `name` up in memory of exactly its size: a sanitizer detects reads of bytes around it.
void expect_as_the_plain_loop(std::string_view name) {
  const auto alone = std::make_unique<char[]>(name.size());
  std::copy(name.begin(), name.end(), alone.get());
  const std::string_view view(alone.get(), name.size());
  ASSERT_EQ(find_element(view), element_by_plain_loop(name)) << name;
  ASSERT_EQ(find_attribute(view), attribute_by_plain_loop(name)) << name;
}

TEST(Element, NamesOfTheEnumerators) {
  EXPECT_EQ(to_string(Element::kOther), "*");
  EXPECT_EQ(to_string(Element::kA), "a");
  EXPECT_EQ(to_string(Element::kForeignObject), "foreignobject");
  EXPECT_EQ(to_string(Element::kAnnotationXml), "annotation-xml");
  EXPECT_EQ(to_string(Element::kSemantics), "semantics");
  EXPECT_EQ(to_string(Attribute::kHref), "href");
  EXPECT_EQ(to_string(Attribute::kXlinkHref), "xlink:href");
  EXPECT_EQ(to_string(Attribute::kHttpEquiv), "http-equiv");
  EXPECT_EQ(to_string(Attribute::kSize), "size");
}

TEST(Element, NamesAreDistinctAndInLowerCase) {
  std::set<std::string_view> elements;
  for (std::size_t i = 0; i < kElements; ++i) {
    const std::string_view name = to_string(static_cast<Element>(i));
    EXPECT_EQ(to_lower(name), name);
    EXPECT_TRUE(elements.insert(name).second) << name;
  }
  std::set<std::string_view> attributes;
  for (std::size_t i = 0; i < kAttributes; ++i)
    EXPECT_TRUE(attributes.insert(to_string(static_cast<Attribute>(i))).second);
}

TEST(Element, EveryNameIsFoundInEveryCase) {
  for (const std::string& name : all_names()) {
    const unsigned variants = 1u << std::min<std::size_t>(name.size(), 11);
    for (unsigned bits = 0; bits < variants; ++bits) {
      std::string variant = name;
      for (std::size_t i = 0; i < name.size(); ++i)
        if (bits >> (i % 11) & 1) variant[i] = static_cast<char>(std::toupper(variant[i]));
      expect_as_the_plain_loop(variant);
    }
  }
  EXPECT_EQ(find_element("ForeignObject"), Element::kForeignObject);
  EXPECT_EQ(find_attribute("XLink:Href"), Attribute::kXlinkHref);
}

TEST(Element, OneByteChangedAddedOrRemoved) {
#ifdef __SANITIZE_THREAD__
  constexpr int kStep = 7;  // no thread has a part in it, and each takes its time
#else
  constexpr int kStep = 1;
#endif
  for (const std::string& name : all_names()) {
    for (std::size_t at = 0; at <= name.size(); ++at) {
      if (at < name.size()) expect_as_the_plain_loop(std::string(name).erase(at, 1));
      for (int byte = 0; byte < 256; byte += kStep) {
        std::string variant = name;
        expect_as_the_plain_loop(variant.insert(at, 1, static_cast<char>(byte)));
        if (at == name.size()) continue;
        variant = name;
        variant[at] = static_cast<char>(byte);
        expect_as_the_plain_loop(variant);
      }
    }
  }
}

TEST(Element, WhatIsNoName) {
  EXPECT_EQ(find_element({}), Element::kOther);
  EXPECT_EQ(find_attribute({}), std::nullopt);
  EXPECT_EQ(find_element("*"), Element::kOther);
  EXPECT_EQ(find_element("\u212Abd"), Element::kOther) << "the Kelvin sign is not a k";
  EXPECT_EQ(find_element(std::string(1'000'000, 'a')), Element::kOther);
  EXPECT_EQ(find_attribute(std::string(1'000'000, 'a')), std::nullopt);
}

TEST(Element, RandomNames) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  constexpr std::string_view kLetters = "abcdefhilmnoprstuADHIRST16-:\xC1";
  for (int round = 0; round < 100'000; ++round) {
    expect_as_the_plain_loop(test::random_text(random, kLetters, 1 + random() % 4));
  }
}

TEST(ElementAttributes, TheFirstOfANameCounts) {
  ElementAttributes attributes;
  EXPECT_FALSE(attributes.has(Attribute::kHref));
  EXPECT_EQ(attributes.get(Attribute::kHref), std::nullopt);
  EXPECT_EQ(attributes.get_or_empty(Attribute::kHref), "");
  attributes.add(Attribute::kHref, "one");
  attributes.add(Attribute::kHref, "two");
  attributes.add(Attribute::kSize, "");
  EXPECT_EQ(attributes.get(Attribute::kHref), "one");
  EXPECT_EQ(attributes.get(Attribute::kSize), "");
  EXPECT_FALSE(attributes.has(Attribute::kFace));
  attributes.clear();
  EXPECT_FALSE(attributes.has(Attribute::kHref));
  EXPECT_EQ(attributes.get_or_empty(Attribute::kHref), "");
}

}  // namespace
}  // namespace trawl
