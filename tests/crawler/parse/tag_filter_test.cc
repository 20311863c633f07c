#include "crawler/parse/html/tag_filter.h"

#include <cstddef>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trawl/links.h"

#include "crawler/parse/html/element.h"
#include "crawler/parse/html/page_references.h"
#include "crawler/parse/html/page_scanner.h"
#include "crawler/parse/html/reference_collector.h"

namespace trawl {
namespace {

TEST(TagFilter, PassesWhatWasAdded) {
  constexpr TagFilter kFilter = [] {
    TagFilter filter;
    filter.add_start("a");
    filter.add_end("table");
    return filter;
  }();
  EXPECT_TRUE(kFilter.passes(false, 'a', 1));
  EXPECT_TRUE(kFilter.passes(false, 'A', 1));
  EXPECT_FALSE(kFilter.passes(true, 'a', 1));
  EXPECT_FALSE(kFilter.passes(false, 'a', 2));
  EXPECT_FALSE(kFilter.passes(false, 'b', 1));
  EXPECT_TRUE(kFilter.passes(true, 'T', 5));
  EXPECT_FALSE(kFilter.passes(false, 't', 5));
  EXPECT_FALSE(TagFilter().passes(false, 'a', 1));
}

TEST(TagFilter, LongNamesCountAsOneLength) {
  TagFilter filter;
  filter.add_start(std::string(40, 'x'));
  EXPECT_TRUE(filter.passes(false, 'x', 31));
  EXPECT_TRUE(filter.passes(false, 'x', 1u << 30));
  EXPECT_FALSE(filter.passes(false, 'x', 30));
}

TEST(TagFilter, AllPassesAll) {
  for (const bool is_end : {false, true}) {
    for (char letter = 'a'; letter <= 'z'; ++letter) {
      for (const std::size_t length : {1u, 2u, 16u, 30u, 31u, 32u, 1'000'000u})
        EXPECT_TRUE(TagFilter::all().passes(is_end, letter, length));
    }
  }
}

// What the scanner says about a page with and without looking at all tags.
class Scans {
 public:
  explicit Scans(LinkKinds kinds) { options_.kinds = kinds, options_.texts = true; }

  void expect_same(std::string_view page) {
    const std::vector<std::string> some = facts_of(skipping_, page);
    const std::vector<std::string> all = facts_of(thorough_, page);
    ASSERT_EQ(some, all) << page;
  }

 private:
  std::vector<std::string> facts_of(PageScanner& scanner, std::string_view page) const {
    PageReferences found;
    ReferenceCollector collector(options_, found);
    const auto verdict = scanner.scan(page, collector, found);
    std::vector<std::string> facts = {
        verdict == PageScanner::Verdict::kExact ? "exact" : "needs tree", found.title,
        std::string(found.base.value_or("-")), std::string(found.language.value_or("-"))};
    for (const Reference& reference : found.references) {
      facts.emplace_back(to_string(reference.kind));
      facts.emplace_back(to_string(reference.element));
      facts.emplace_back(to_string(reference.attribute));
      facts.emplace_back(reference.value);
    }
    for (const AnchorSource& anchor : found.anchors)
      facts.push_back(std::to_string(anchor.reference) + " " + std::string(anchor.inside));
    return facts;
  }

  LinkOptions options_;
  PageScanner skipping_;
  PageScanner thorough_{false};
};

const LinkKinds kChoices[] = {LinkKinds::pages(),
                              LinkKinds{LinkKind::kNavigation},
                              LinkKinds{LinkKind::kDocument},
                              LinkKinds{LinkKind::kCitation},
                              LinkKinds{LinkKind::kResource},
                              LinkKinds::all()};

std::string name_of(std::size_t element) {
  return element == 0 ? "unknown" : std::string(to_string(static_cast<Element>(element)));
}

std::string upper(std::string text) {
  for (char& c : text)
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

// Every tag, everywhere it could make a difference.
TEST(TagFilter, SkippedTagsMakeNoDifference) {
  constexpr std::string_view kBefore[] = {
      "",
      "<p>",
      "<a href=0>",
      "<select><option>",
      "<table>",
      "<table><tr><td>",
      "<table><td><select>",
      "<table><caption>",
      "<form action=f>",
      "<template>",
      "<template shadowrootmode=open>",
      "<svg>",
      "<svg><desc>",
      "<math><mi>",
      "<body><button>",
  };
  constexpr std::string_view kAfter[] = {
      "<a href=1>x</a><form action=2></form></select></table><a href=3>y</svg></template></form>"
      "<form action=4>",
      "<tr style='b:url(v)'><a href=1>x</xmp></style></script></title></textarea><table><td>"
      "<select><td><a href=2>y",
  };
  for (const LinkKinds kinds : {LinkKinds::pages(), LinkKinds::all()}) {
    Scans scans(kinds);
    for (std::size_t i = 0; i < kElements; ++i) {
      const std::string name = name_of(i);
      for (const std::string& tag :
           {"<" + name + ">", "</" + name + ">", "</" + upper(name) + " x='>'>",
            "<" + upper(name) + " href='>' src=s cite=c style='x:url(u)'>"}) {
        for (const std::string_view before : kBefore) {
          for (const std::string_view after : kAfter)
            scans.expect_same(std::string(before) + tag + std::string(after));
        }
      }
    }
  }
}

TEST(TagFilter, SkippedTagsMakeNoDifferenceOnAnyPage) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  constexpr std::string_view kRest[] = {">",
                                        ">text",
                                        " href=1>t",
                                        " src=\"<a href=>\">",
                                        " style='u'>",
                                        "/>",
                                        " class=c>",
                                        " a='",
                                        " \"",
                                        " action=2 src>",
                                        "<"};
  for (const LinkKinds kinds : kChoices) {
    Scans scans(kinds);
    for (int round = 0; round < 1500; ++round) {
      std::string page;
      for (std::size_t tags = random() % 25; tags > 0; --tags) {
        page += random() % 3 == 0 ? "</" : "<";
        page += name_of(random() % kElements);
        page += kRest[random() % std::size(kRest)];
      }
      scans.expect_same(page);
    }
  }
}

}  // namespace
}  // namespace trawl
