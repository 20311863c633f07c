// Documents of SVG, by the LinkExtractor that reads them.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trawl/links.h"

#include "base/thread_time.h"

namespace trawl {
namespace {

using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kSvg = "<svg xmlns='http://www.w3.org/2000/svg'>";

PageLinks read(std::string_view svg) {
  LinkOptions options;
  options.kinds = LinkKinds::all();
  options.requisites = true;
  return LinkExtractor(options).extract(svg, "image/svg+xml", *Url::parse("http://a.test/"));
}

std::vector<std::string> links_of(std::string_view svg) {
  std::vector<std::string> found;
  for (const Link& link : read(svg).links)
    found.push_back(std::string(link.element) + ' ' + std::string(link.url.path()));
  return found;
}

std::string in_svg(std::string_view inside) {
  return std::string(kSvg) + std::string(inside) + "</svg>";
}

TEST(SvgReader, FindsWhatADocumentLoads) {
  EXPECT_THAT(links_of(in_svg("<title>t</title><image href='1'/><a href='2'><use href='3#x'/></a>"
                              "<g style='fill: url(4)'/><use href='#here'/><script href='5'/>")),
              ElementsAre("image /1", "a /2", "use /3", "g /4", "script /5"));
  EXPECT_THAT(links_of(in_svg("<style><![CDATA[@import '1';]]>a { background: url(2&amp;3) }"
                              "</style><style/><image href='4'/>")),
              ElementsAre("style /1", "style /2&3", "image /4"));
  EXPECT_EQ(read(in_svg("<title> a\n b </title><g><title>c</title></g>")).title, "a b");
}

TEST(SvgReader, FindsUrlsInAttributesForPresentation) {
  constexpr std::string_view kDrawing =
      "<g fill='url(1#a)' stroke='url(#b)' d='url(no)'/><path mask='url(&quot;2&quot;)' "
      "marker-mid='URL(3)' title='url(no)' cursor='url(4), auto'/>";
  const auto expected = ElementsAre("g /1", "path /2", "path /3", "path /4");
  EXPECT_THAT(links_of(in_svg(kDrawing)), expected);
  for (const LinkEngine engine : {LinkEngine::kScanner, LinkEngine::kGumbo}) {
    std::vector<std::string> found;
    for (const Link& link :
         extract_links("<p fill='url(no)'>" + in_svg(kDrawing), *Url::parse("http://a.test/"),
                       {.kinds = {LinkKind::kResource}, .engine = engine})
             .links)
      found.push_back(std::string(link.element) + ' ' + std::string(link.url.path()));
    EXPECT_THAT(found,
                testing::UnorderedElementsAreArray({"g /1", "path /2", "path /3", "path /4"}));
  }
}

TEST(SvgReader, KnowsNamespaces) {
  EXPECT_THAT(links_of("<s:svg xmlns:s='http://www.w3.org/2000/svg' xmlns:l="
                       "'http://www.w3.org/1999/xlink'><s:image l:href='1'/><image href='2'/>"
                       "<s:image x:href='3'/></s:svg>"),
              ElementsAre("image /1"));
  EXPECT_THAT(links_of(in_svg("<foreignObject><p xmlns='http://www.w3.org/1999/xhtml'>"
                              "<img src='1'/><image xlink:href='2'/></p></foreignObject>"
                              "<img src='3'/><image href='4'/><e xmlns='x'><image href='5'/></e>")),
              ElementsAre("img /1", "image /4"));
  EXPECT_THAT(links_of("<svg><image href='1'/></svg>"), IsEmpty());
}

TEST(SvgReader, FindsStyleSheetsOfTheProlog) {
  EXPECT_THAT(links_of("\xEF\xBB\xBF<?xml version='1.0'?> <!-- <?xml-stylesheet href='no'?> -->\n"
                       "<?xml-stylesheet href='1?a&amp;b' type='text/css'?>"
                       "<?xml-stylesheets href='no'?><?xml-stylesheet href='#style'?>"
                       "<!DOCTYPE svg [ <!ENTITY a '<?xml-stylesheet href=\"no\"?>'> ]>"
                       "<?xml-stylesheet\thref='2'?>" +
                       in_svg("<?xml-stylesheet href='no'?>")),
              ElementsAre("link /1", "link /2"));
  EXPECT_THAT(links_of("<?xml-stylesheet href='1'"), IsEmpty());
}

TEST(SvgReader, IsNotStoppedByErrors) {
  EXPECT_THAT(links_of(std::string(kSvg) + "<g><image href='1'></b>&x; <image href=\"2\xFF\"/>"),
              ElementsAre("image /1", "image /2%C3%BF"));
  EXPECT_THAT(links_of(std::string(kSvg) + "<image href='1'/><image href='"),
              ElementsAre("image /1"));
  EXPECT_THAT(links_of(""), IsEmpty());
}

// Time that is quadratic in the size would be minutes.
TEST(SvgReader, TakesLinearTimeOnHostileInput) {
  constexpr std::size_t kBytes = 2u << 20;
  for (const std::string piece :
       {"<g>", "</g>", "<?xml-stylesheet ", "<!--", "<?a?>", "<!DOCTYPE [", "&a;", "<style>",
        "<g xmlns:a='http://www.w3.org/2000/svg' a:b=''>", "<image href='a", "]]>", "<![CDATA["}) {
    std::string svg;
    while (svg.size() < kBytes)
      svg += piece;
    for (const std::string& document : {svg, std::string(kSvg) + svg}) {
      const auto begun = thread_time();
      read(document);
      EXPECT_LT(thread_time() - begun, 20s) << piece;
    }
  }
}

}  // namespace
}  // namespace trawl
