#include "crawler/parse/html/reference_collector.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/parse/html/page_references.h"

namespace trawl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Attributes = std::initializer_list<std::pair<Attribute, std::string_view>>;

// Collects references, written as "kind element@attribute=value".
class Collected {
 public:
  explicit Collected(LinkOptions options = {.kinds = LinkKinds::all()})
      : options_(std::move(options)), collector_(options_, page) {}

  Collected& add(MarkupSpace space, Element element, Attributes attributes) {
    ElementAttributes values;
    for (const auto& [attribute, value] : attributes)
      values.add(attribute, value);
    collector_.element(space, element, values);
    return *this;
  }
  Collected& html(Element element, Attributes attributes) {
    return add(MarkupSpace::kHtml, element, attributes);
  }
  Collected& svg(Element element, Attributes attributes) {
    return add(MarkupSpace::kSvg, element, attributes);
  }
  ReferenceCollector& collector() { return collector_; }

  std::vector<std::string> found() const {
    std::vector<std::string> result;
    for (const Reference& reference : page.references) {
      std::string line(to_string(reference.kind));
      line.append(" ").append(to_string(reference.element));
      line.append("@").append(to_string(reference.attribute));
      line.append("=").append(reference.value);
      if (!reference.rel.empty()) line.append(" rel=").append(reference.rel);
      result.push_back(line);
    }
    return result;
  }

  PageReferences page;

 private:
  const LinkOptions options_;
  ReferenceCollector collector_;
};

std::vector<std::string> html(Element element, Attributes attributes) {
  return Collected().html(element, attributes).found();
}
std::vector<std::string> svg(Element element, Attributes attributes) {
  return Collected().svg(element, attributes).found();
}

TEST(ReferenceCollector, Navigation) {
  EXPECT_THAT(html(Element::kA, {{Attribute::kHref, "x"}, {Attribute::kRel, "nofollow"}}),
              ElementsAre("navigation a@href=x rel=nofollow"));
  EXPECT_THAT(html(Element::kA, {{Attribute::kHref, ""}}), ElementsAre("navigation a@href="));
  EXPECT_THAT(html(Element::kA, {{Attribute::kName, "x"}, {Attribute::kXlinkHref, "y"}}),
              IsEmpty());
  EXPECT_THAT(html(Element::kArea, {{Attribute::kHref, "x"}}),
              ElementsAre("navigation area@href=x"));
}

TEST(ReferenceCollector, Forms) {
  const auto form = [](std::string_view method) {
    return html(Element::kForm, {{Attribute::kAction, "x"}, {Attribute::kMethod, method}});
  };
  for (const std::string_view get : {"", "get", "GET", "put", "post ", "nonsense"})
    EXPECT_THAT(form(get), ElementsAre("form form@action=x")) << get;
  for (const std::string_view other : {"post", "POST", "Dialog"})
    EXPECT_THAT(form(other), IsEmpty()) << other;
  EXPECT_THAT(html(Element::kForm, {{Attribute::kAction, "x"}}), ElementsAre("form form@action=x"));
  EXPECT_THAT(html(Element::kForm, {}), IsEmpty());
  EXPECT_THAT(html(Element::kForm, {{Attribute::kAction, ""}}), IsEmpty());
}

TEST(ReferenceCollector, Documents) {
  EXPECT_THAT(html(Element::kIframe, {{Attribute::kSrc, "x"}}),
              ElementsAre("document iframe@src=x"));
  EXPECT_THAT(html(Element::kFrame, {{Attribute::kSrc, "x"}}), ElementsAre("document frame@src=x"));
  EXPECT_THAT(html(Element::kEmbed, {{Attribute::kSrc, "x"}}), ElementsAre("document embed@src=x"));
  EXPECT_THAT(html(Element::kObject, {{Attribute::kSrc, "no"}, {Attribute::kData, "x"}}),
              ElementsAre("document object@data=x"));
  EXPECT_THAT(html(Element::kIframe, {{Attribute::kSrc, ""}}), IsEmpty());
}

TEST(ReferenceCollector, Resources) {
  EXPECT_THAT(
      html(Element::kImg, {{Attribute::kSrcset, "a 1x, b,c 2x"}, {Attribute::kSrc, "x"}}),
      ElementsAre("resource img@src=x", "resource img@srcset=a", "resource img@srcset=b,c"));
  EXPECT_THAT(html(Element::kImage, {{Attribute::kSrc, "x"}}), ElementsAre("resource img@src=x"))
      << "<image> is <img>";
  EXPECT_THAT(html(Element::kSource, {{Attribute::kSrc, "x"}, {Attribute::kSrcset, "a"}}),
              ElementsAre("resource source@src=x", "resource source@srcset=a"));
  EXPECT_THAT(html(Element::kVideo, {{Attribute::kPoster, "p"}, {Attribute::kSrc, "x"}}),
              ElementsAre("resource video@src=x", "resource video@poster=p"));
  for (const Element element : {Element::kAudio, Element::kTrack, Element::kScript}) {
    EXPECT_THAT(html(element, {{Attribute::kSrc, "x"}, {Attribute::kPoster, "no"}}),
                ElementsAre("resource " + std::string(to_string(element)) + "@src=x"));
    EXPECT_THAT(html(element, {{Attribute::kSrc, ""}}), IsEmpty());
  }
  EXPECT_THAT(html(Element::kInput, {{Attribute::kType, "IMAGE"}, {Attribute::kSrc, "x"}}),
              ElementsAre("resource input@src=x"));
  EXPECT_THAT(html(Element::kInput, {{Attribute::kType, "text"}, {Attribute::kSrc, "x"}}),
              IsEmpty());
  EXPECT_THAT(html(Element::kInput, {{Attribute::kSrc, "x"}}), IsEmpty());
  EXPECT_THAT(html(Element::kDiv, {{Attribute::kSrc, "x"}, {Attribute::kHref, "x"}}), IsEmpty());
}

TEST(ReferenceCollector, Links) {
  const auto link = [](std::string_view rel) {
    return html(Element::kLink, {{Attribute::kRel, rel}, {Attribute::kHref, "x"}});
  };
  for (const std::string_view related :
       {"alternate", "next", "prev", "previous", "amphtml", "canonical", "foo\tNEXT\fbar",
        "preconnect next", "next stylesheet"}) {
    EXPECT_THAT(link(related), ElementsAre("related link@href=x rel=" + std::string(related)));
  }
  for (const std::string_view resource :
       {"stylesheet", "icon", "preload", "manifest", "alternate stylesheet",
        "Stylesheet\nAlternate", "nextpage", "shortcut icon", "preconnect icon", "prefetch"}) {
    EXPECT_THAT(link(resource), ElementsAre("resource link@href=x rel=" + std::string(resource)));
  }
  for (const std::string_view hint : {"dns-prefetch", "Preconnect", " dns-prefetch  preconnect "})
    EXPECT_THAT(link(hint), IsEmpty()) << hint;
  EXPECT_THAT(link(""), ElementsAre("resource link@href=x"));
  EXPECT_THAT(html(Element::kLink, {{Attribute::kHref, ""}, {Attribute::kRel, "next"}}), IsEmpty());
  EXPECT_THAT(
      html(Element::kLink, {{Attribute::kRel, "preload"},
                            {Attribute::kHref, "x"},
                            {Attribute::kImagesrcset, "a 1x, b 2x"}}),
      ElementsAre("resource link@href=x rel=preload", "resource link@imagesrcset=a rel=preload",
                  "resource link@imagesrcset=b rel=preload"));
}

TEST(ReferenceCollector, Citations) {
  EXPECT_THAT(html(Element::kQ, {{Attribute::kCite, "x"}}), ElementsAre("citation q@cite=x"));
  EXPECT_THAT(html(Element::kBlockquote, {{Attribute::kCite, "x"}}),
              ElementsAre("citation blockquote@cite=x"));
  EXPECT_THAT(html(Element::kDel, {{Attribute::kCite, "x"}}), IsEmpty());
}

TEST(ReferenceCollector, Svg) {
  EXPECT_THAT(svg(Element::kA, {{Attribute::kHref, "x"}}), ElementsAre("navigation a@href=x"));
  EXPECT_THAT(svg(Element::kA, {{Attribute::kXlinkHref, "x"}, {Attribute::kHref, "y"}}),
              ElementsAre("navigation a@href=y"));
  for (const Element element :
       {Element::kImage, Element::kUse, Element::kFeImage, Element::kScript}) {
    const std::string name(to_string(element));
    EXPECT_THAT(svg(element, {{Attribute::kXlinkHref, "x"}, {Attribute::kSrc, "no"}}),
                ElementsAre("resource " + name + "@xlink:href=x"));
    EXPECT_THAT(svg(element, {{Attribute::kHref, " #shape"}}), IsEmpty());
    EXPECT_THAT(svg(element, {{Attribute::kHref, ""}, {Attribute::kXlinkHref, "x"}}), IsEmpty());
    EXPECT_THAT(Collected().add(MarkupSpace::kMathMl, element, {{Attribute::kHref, "x"}}).found(),
                IsEmpty());
  }
  EXPECT_THAT(svg(Element::kImg, {{Attribute::kSrc, "x"}}), IsEmpty());
  EXPECT_THAT(svg(Element::kLink, {{Attribute::kHref, "x"}}), IsEmpty());
}

TEST(ReferenceCollector, StyleAttributesOfAnyElement) {
  EXPECT_THAT(html(Element::kOther, {{Attribute::kStyle, "background:url( 'x' )"}}),
              ElementsAre("resource *@style=x"));
  EXPECT_THAT(svg(Element::kG, {{Attribute::kStyle, "fill:url(#a);mask:url(b#c)"}}),
              ElementsAre("resource g@style=b#c"));
  EXPECT_THAT(html(Element::kA, {{Attribute::kHref, "x"}, {Attribute::kStyle, "a:url(y)"}}),
              ElementsAre("navigation a@href=x", "resource a@style=y"));
  EXPECT_THAT(
      Collected()
          .add(MarkupSpace::kMathMl, Element::kMi, {{Attribute::kStyle, "@import 'x';a:url(y)"}})
          .found(),
      ElementsAre("resource mi@style=y"));
}

TEST(ReferenceCollector, StyleSheets) {
  Collected page;
  page.html(Element::kStyle, {}).collector().style_sheet("@import 'a';b{c:url(d)}");
  page.html(Element::kStyle, {{Attribute::kType, "text/less"}})
      .collector()
      .style_sheet("a:url(no)");
  page.svg(Element::kStyle, {{Attribute::kType, "TEXT/CSS"}}).collector().style_sheet("a:url(e)");
  page.html(Element::kStyle, {{Attribute::kType, ""}}).collector().style_sheet("a:url(\\66)");
  EXPECT_THAT(page.found(), ElementsAre("resource style@style=a", "resource style@style=d",
                                        "resource style@style=e", "resource style@style=f"));
}

TEST(ReferenceCollector, Base) {
  Collected page;
  page.html(Element::kBase, {{Attribute::kName, "no"}});
  EXPECT_EQ(page.page.base, std::nullopt);
  page.svg(Element::kBase, {{Attribute::kHref, "no"}});
  EXPECT_EQ(page.page.base, std::nullopt);
  page.html(Element::kBase, {{Attribute::kHref, ""}})
      .html(Element::kBase, {{Attribute::kHref, "x"}});
  EXPECT_EQ(page.page.base, "");
  EXPECT_THAT(page.found(), IsEmpty());
}

TEST(ReferenceCollector, Canonical) {
  Collected page;
  page.html(Element::kLink, {{Attribute::kRel, "canonical"}});
  page.html(Element::kLink, {{Attribute::kRel, "canonical"}, {Attribute::kHref, ""}});
  EXPECT_EQ(page.page.canonical, std::nullopt);
  page.html(Element::kLink, {{Attribute::kRel, "x CANONICAL"}, {Attribute::kHref, "one"}});
  page.html(Element::kLink, {{Attribute::kRel, "canonical"}, {Attribute::kHref, "two"}});
  EXPECT_EQ(page.page.canonical, "one");
}

TEST(ReferenceCollector, MetaRobots) {
  const auto robots = [](std::string_view name, std::string_view content) {
    return Collected(LinkOptions{.agent = "TestBot"})
        .html(Element::kMeta, {{Attribute::kName, name}, {Attribute::kContent, content}})
        .page.robots;
  };
  EXPECT_TRUE(robots("robots", "noindex").noindex);
  EXPECT_TRUE(robots("ROBOTS", "none").nofollow);
  EXPECT_TRUE(robots("testbot", "nofollow").nofollow);
  EXPECT_EQ(robots("googlebot", "none"), RobotsDirectives{});
  EXPECT_EQ(robots("", "none"), RobotsDirectives{});

  Collected page;
  page.html(Element::kMeta, {{Attribute::kName, "robots"}, {Attribute::kContent, "noindex"}});
  page.html(Element::kMeta, {{Attribute::kName, "robots"}, {Attribute::kContent, "nofollow"}});
  page.html(Element::kMeta, {{Attribute::kName, "robots"}});
  EXPECT_TRUE(page.page.robots.noindex && page.page.robots.nofollow);
  EXPECT_EQ(Collected(LinkOptions{.agent = ""})
                .html(Element::kMeta, {{Attribute::kContent, "none"}})
                .page.robots,
            RobotsDirectives{})
      << "a <meta> without a name applies to no crawler";
}

TEST(ReferenceCollector, Refresh) {
  Collected page;
  const auto refresh = [&](std::string_view content) {
    page.html(Element::kMeta, {{Attribute::kHttpEquiv, "Refresh"}, {Attribute::kContent, content}});
  };
  page.html(Element::kMeta, {{Attribute::kHttpEquiv, "refresh"}});
  page.html(Element::kMeta, {{Attribute::kName, "refresh"}, {Attribute::kContent, "5;x"}});
  refresh("nonsense");
  EXPECT_FALSE(page.page.refresh);
  refresh("5; url='x'");
  refresh("1; url=y");
  ASSERT_TRUE(page.page.refresh);
  EXPECT_EQ(page.page.refresh->delay.count(), 5);
  EXPECT_EQ(page.page.refresh->url, "x");
  EXPECT_THAT(page.found(), ElementsAre("refresh meta@content=x"));

  Collected reload;
  reload.html(Element::kMeta, {{Attribute::kHttpEquiv, "refresh"}, {Attribute::kContent, "5"}});
  EXPECT_TRUE(reload.page.refresh);
  EXPECT_THAT(reload.found(), IsEmpty());
}

std::string title_of(std::string_view text) {
  Collected page;
  page.collector().title(text);
  return page.page.title;
}

TEST(ReferenceCollector, Title) {
  EXPECT_EQ(title_of("\n  A \t\r\f title\n"), "A title");
  EXPECT_EQ(title_of(" \n "), "");
  EXPECT_EQ(title_of("non\u00A0breaking"), "non\u00A0breaking");

  Collected page;
  EXPECT_TRUE(page.collector().wants_title());
  page.collector().title(" ");
  EXPECT_FALSE(page.collector().wants_title());
  page.collector().title("second");
  EXPECT_EQ(page.page.title, "") << "an empty first title is the first";
}

TEST(ReferenceCollector, LongTitlesAreCutBetweenCharacters) {
  const std::string a4095(4095, 'a');
  EXPECT_EQ(title_of(a4095 + "b"), a4095 + "b");
  EXPECT_EQ(title_of(a4095 + "bc"), a4095 + "b");
  EXPECT_EQ(title_of(a4095 + "\u00e9"), a4095);
  EXPECT_EQ(title_of(a4095 + " b"), a4095);
  EXPECT_EQ(title_of(a4095.substr(2) + "\U0001F600b"), a4095.substr(2));
  EXPECT_EQ(title_of(a4095.substr(3) + "\U0001F600b"), a4095.substr(3) + "\U0001F600");
  EXPECT_EQ(title_of(std::string(10'000, '\x80')).size(), 4095u) << "U+FFFD, three bytes each";
  std::string words;
  for (int i = 0; i < 1'000'000; ++i)
    words += "a ";
  EXPECT_EQ(title_of(words).size(), 4095u);
}

TEST(ReferenceCollector, OnlyTheKindsAskedFor) {
  Collected page(LinkOptions{.kinds = {LinkKind::kCitation}});
  page.html(Element::kA, {{Attribute::kHref, "x"}, {Attribute::kStyle, "a:url(b)"}});
  page.html(Element::kImg, {{Attribute::kSrc, "x"}, {Attribute::kSrcset, "x"}});
  page.html(Element::kLink, {{Attribute::kRel, "canonical"}, {Attribute::kHref, "x"}});
  page.html(Element::kLink,
            {{Attribute::kRel, "icon"}, {Attribute::kHref, "x"}, {Attribute::kImagesrcset, "x"}});
  page.html(Element::kMeta, {{Attribute::kHttpEquiv, "refresh"}, {Attribute::kContent, "5;x"}});
  page.html(Element::kStyle, {}).collector().style_sheet("@import 'a'");
  EXPECT_THAT(page.found(), IsEmpty());
  EXPECT_EQ(page.page.canonical, "x");
  EXPECT_TRUE(page.page.refresh);
  page.html(Element::kQ, {{Attribute::kCite, "x"}});
  EXPECT_THAT(page.found(), ElementsAre("citation q@cite=x"));
}

// wants() must not hide anything element() would do.
TEST(ReferenceCollector, WantsWhatItTakes) {
  const std::vector<LinkKind> all = {LinkKind::kNavigation, LinkKind::kForm,    LinkKind::kDocument,
                                     LinkKind::kResource,   LinkKind::kRelated, LinkKind::kCitation,
                                     LinkKind::kRefresh};
  for (const LinkKind kind : all) {
    Collected page(LinkOptions{.kinds = {kind}});
    std::size_t wanted = 0;
    for (const MarkupSpace space : {MarkupSpace::kHtml, MarkupSpace::kSvg, MarkupSpace::kMathMl}) {
      for (std::size_t i = 0; i < kElements; ++i) {
        const auto element = static_cast<Element>(i);
        const std::size_t before = page.page.references.size();
        page.add(space, element,
                 {{Attribute::kHref, "x"},
                  {Attribute::kSrc, "x"},
                  {Attribute::kSrcset, "x"},
                  {Attribute::kPoster, "x"},
                  {Attribute::kData, "x"},
                  {Attribute::kAction, "x"},
                  {Attribute::kCite, "x"},
                  {Attribute::kType, "image"},
                  {Attribute::kRel, kind == LinkKind::kRelated ? "next" : "icon"},
                  {Attribute::kHttpEquiv, "refresh"},
                  {Attribute::kContent, "1;x"}});
        if (page.page.references.size() > before) {
          EXPECT_TRUE(page.collector().wants(space, element)) << to_string(element);
          ++wanted;
        }
      }
    }
    EXPECT_GT(wanted, 0u) << to_string(kind);
    EXPECT_EQ(page.collector().wants_style_attributes(), kind == LinkKind::kResource);
    EXPECT_EQ(page.collector().wants_style_sheets(), kind == LinkKind::kResource);
    EXPECT_EQ(page.collector().wants(MarkupSpace::kHtml, Element::kStyle),
              kind == LinkKind::kResource);
    EXPECT_FALSE(page.collector().wants(MarkupSpace::kHtml, Element::kOther));
    EXPECT_TRUE(page.collector().wants(MarkupSpace::kHtml, Element::kBase));
    EXPECT_TRUE(page.collector().wants(MarkupSpace::kHtml, Element::kMeta));
    EXPECT_TRUE(page.collector().wants(MarkupSpace::kHtml, Element::kLink));
  }
}

TEST(ReferenceCollector, MemoryLimitsTheReferences) {
  const std::size_t each = 2 * sizeof(Reference) + sizeof(Link);
  Collected page(LinkOptions{.kinds = LinkKinds::all(), .max_memory = 3 * each});
  page.html(Element::kImg, {{Attribute::kSrcset, "a, b, c"}});
  EXPECT_EQ(page.page.references.size(), 3u);
  EXPECT_FALSE(page.page.too_large);
  page.html(Element::kImg, {{Attribute::kSrcset, "d, e"}});
  EXPECT_EQ(page.page.references.size(), 3u);
  EXPECT_TRUE(page.page.too_large);
}

TEST(PageReferences, ClearForgetsEverything) {
  Collected page(
      LinkOptions{.kinds = LinkKinds::all(), .max_memory = sizeof(Reference) + sizeof(Link)});
  page.html(Element::kBase, {{Attribute::kHref, "x"}});
  page.html(Element::kLink, {{Attribute::kRel, "canonical"}, {Attribute::kHref, "x"}});
  page.html(Element::kMeta, {{Attribute::kHttpEquiv, "refresh"}, {Attribute::kContent, "5;x"}});
  page.html(Element::kMeta, {{Attribute::kName, "robots"}, {Attribute::kContent, "none"}});
  page.html(Element::kDiv, {{Attribute::kStyle, "a:url(\\62)"}});
  page.collector().title("x");
  EXPECT_TRUE(page.page.too_large && !page.page.made.empty() && page.page.robots.noindex);
  page.page.clear();
  EXPECT_THAT(page.found(), IsEmpty());
  EXPECT_FALSE(page.page.base || page.page.canonical || page.page.refresh || page.page.has_title ||
               page.page.too_large);
  EXPECT_EQ(page.page.robots, RobotsDirectives{});
  EXPECT_EQ(page.page.title, "");
  EXPECT_THAT(page.page.made, IsEmpty());
}

}  // namespace
}  // namespace trawl
