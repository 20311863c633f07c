// LinkExtractor: what holds for both engines is tested with both.
#include <algorithm>
#include <chrono>
#include <random>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trawl/links.h"

#include "tests/support/repeated.h"

namespace trawl {
namespace {

using test::repeated;

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const Url kPageUrl = *Url::parse("http://site.example/dir/page.html?q");

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (const auto part : std::views::split(text, separator))
    parts.emplace_back(part.begin(), part.end());
  return parts;
}

std::vector<std::string> hrefs(const PageLinks& page) {
  std::vector<std::string> result;
  for (const Link& link : page.links)
    result.emplace_back(link.url.href());
  return result;
}

// "kind element@attribute path" of each link.
std::vector<std::string> described(const PageLinks& page) {
  std::vector<std::string> result;
  for (const Link& link : page.links) {
    result.push_back(fmt::format("{} {}@{} {}", to_string(link.kind), link.element, link.attribute,
                                 link.url.path()));
  }
  return result;
}

class BothEngines : public testing::TestWithParam<LinkEngine> {
 protected:
  PageLinks links_of(std::string_view html, LinkOptions options = {}) const {
    options.engine = GetParam();
    return extract_links(html, kPageUrl, options);
  }
  std::vector<std::string> hrefs_of(std::string_view html) const { return hrefs(links_of(html)); }
  // Of links of all kinds, spaces between them.
  std::string paths_of(std::string_view html) const {
    std::string paths;
    for (const Link& link : links_of(html, {.kinds = LinkKinds::all()}).links) {
      if (!paths.empty()) paths += ' ';
      paths += link.url.path();
    }
    return paths;
  }
};

TEST_P(BothEngines, FindsWhatOnlyRequisitesNeed) {
  constexpr std::string_view kHtml =
      "<body background=body.png><table background=t.png><tr background=r.png><td background=d.png>"
      "<img src=a.png data-src=lazy.png data-srcset='l1.png 1x, l2.png 2x'>"
      "<iframe src=unused.html srcdoc='<a href=x>x</a><img src=&quot;s.png&quot;>"
      "<iframe srcdoc=\"<img src=deep.png>\"></iframe>'></iframe>"
      "<iframe data-src=later.html></iframe></table>";
  LinkOptions options;
  options.kinds = {LinkKind::kResource, LinkKind::kDocument};
  EXPECT_THAT(described(links_of(kHtml, options)),
              ElementsAre("resource img@src /dir/a.png", "document iframe@src /dir/unused.html"));
  options.requisites = true;
  const std::vector<std::string> loaded = {"resource body@background /dir/body.png",
                                           "resource table@background /dir/t.png",
                                           "resource tr@background /dir/r.png",
                                           "resource td@background /dir/d.png",
                                           "resource img@src /dir/a.png",
                                           "resource img@src /dir/s.png",
                                           "resource img@src /dir/deep.png"};
  EXPECT_THAT(described(links_of(kHtml, options)), testing::ElementsAreArray(loaded));
  options.lazy_images = true;
  const auto lazy = described(links_of(kHtml, options));
  EXPECT_EQ(lazy.size(), loaded.size() + 4);
  for (const char* each :
       {"resource img@data-src /dir/lazy.png", "resource img@data-srcset /dir/l2.png",
        "document iframe@data-src /dir/later.html"})
    EXPECT_THAT(lazy, testing::Contains(each));
}

TEST_P(BothEngines, NestedDocumentsAreBounded) {
  LinkOptions options;
  options.kinds = {LinkKind::kResource, LinkKind::kDocument};
  options.requisites = true;
  const auto nested = [](const std::string& inner) {
    std::string escaped;
    for (const char c : inner)
      escaped += c == '"' ? "&quot;" : c == '&' ? "&amp;" : std::string(1, c);
    return "<iframe srcdoc=\"" + escaped + "\"></iframe>";
  };
  std::string html = "<img src=x>";
  for (int depth = 0; depth < 64; ++depth)
    html = nested(html);
  EXPECT_THAT(described(links_of(html, options)), SizeIs(1));
  EXPECT_EQ(links_of(nested(html), options).skipped, LinksSkipped::kTooLarge);
  options.max_memory = 1u << 20;
  const std::string many = repeated("<iframe srcdoc='<img src=x>'></iframe>", 40'000);
  EXPECT_EQ(links_of(many, options).skipped, LinksSkipped::kTooLarge);
  // All of a page count, at each depth: few in each of many.
  const std::string few = repeated("<iframe srcdoc='<img src=x>'></iframe>", 100);
  EXPECT_EQ(links_of(nested(few), options).skipped, LinksSkipped::kNo);
  EXPECT_EQ(links_of(repeated(nested(few), 8), options).skipped, LinksSkipped::kTooLarge);
  // Each level is read once more.
  options.max_bytes = 100'000;
  const std::string text = "<img src=x>" + std::string(60'000, 'x');
  EXPECT_EQ(links_of(nested(text), options).skipped, LinksSkipped::kNo);
  EXPECT_EQ(links_of(nested(nested(text)), options).skipped, LinksSkipped::kTooLarge);
}

INSTANTIATE_TEST_SUITE_P(LinkExtractor, BothEngines,
                         testing::Values(LinkEngine::kScanner, LinkEngine::kGumbo),
                         [](const auto& engine) {
                           return engine.param == LinkEngine::kGumbo ? "Gumbo" : "Scanner";
                         });

TEST_P(BothEngines, AllKindsInTheOrderOfTheSource) {
  const PageLinks page = links_of(
      "<!doctype html><head><link rel=stylesheet href=style.css><link rel=Next href=n>"
      "<meta http-equiv=refresh content='9;url=r'></head><body style='background:url(bg.png)'>"
      "<p><a href='one'>1</a><iframe src=/frame></iframe><img src=i srcset='i1 1x, i2 2x'>"
      "<map><area href=\"../two\"></map><A HREF=one>again</A><form action=f></form>"
      "<q cite=c></q><object data=o></object>",
      {.kinds = LinkKinds::all()});
  EXPECT_THAT(described(page),
              ElementsAre("resource link@href /dir/style.css", "related link@href /dir/n",
                          "refresh meta@content /dir/r", "resource body@style /dir/bg.png",
                          "navigation a@href /dir/one", "document iframe@src /frame",
                          "resource img@src /dir/i", "resource img@srcset /dir/i1",
                          "resource img@srcset /dir/i2", "navigation area@href /two",
                          "navigation a@href /dir/one", "form form@action /dir/f",
                          "citation q@cite /dir/c", "document object@data /dir/o"));
  EXPECT_EQ(page.skipped, LinksSkipped::kNo);
  EXPECT_EQ(page.engine, GetParam());
  EXPECT_FALSE(page.base);
}

TEST_P(BothEngines, TheDefaultIsWhatACrawlerOfPagesFollows) {
  EXPECT_THAT(described(links_of("<link rel=stylesheet href=1><link rel=canonical href=2>"
                                 "<a href=3><img src=4><iframe src=5></iframe><script src=6>"
                                 "</script><form action=7></form><q cite=8>")),
              ElementsAre("related link@href /dir/2", "navigation a@href /dir/3",
                          "document iframe@src /dir/5"));
}

TEST_P(BothEngines, FactsOfThePage) {
  const PageLinks page = links_of(
      "<title> A &amp;\n title </title><title>no</title><base href=/b/>"
      "<link rel=canonical href=c><meta name=ROBOTS content='NoIndex'>"
      "<meta name=trawl content=nofollow><meta name=otherbot content=noarchive>"
      "<meta http-equiv=Refresh content='5; URL=later'><a href=x>");
  EXPECT_EQ(page.title, "A & title");
  ASSERT_TRUE(page.base && page.canonical && page.refresh && page.refresh->url);
  EXPECT_EQ(page.base->href(), "http://site.example/b/");
  EXPECT_EQ(page.canonical->href(), "http://site.example/b/c");
  EXPECT_EQ(page.refresh->delay.count(), 5);
  EXPECT_EQ(page.refresh->url->href(), "http://site.example/b/later");
  EXPECT_TRUE(page.robots.noindex && page.robots.nofollow && !page.robots.noarchive);
  EXPECT_FALSE(page.links.back().follow);
  EXPECT_EQ(page.encoding, "UTF-8");
}

TEST_P(BothEngines, Nofollow) {
  const PageLinks page = links_of(
      "<a href=1 rel='noopener NOFOLLOW'><a href=2 rel='nofollowed'><a href=3 rel=\"\tnofollow\n\">"
      "<a href=4>");
  ASSERT_EQ(page.links.size(), 4u);
  EXPECT_FALSE(page.links[0].follow);
  EXPECT_EQ(page.links[0].rel, "noopener NOFOLLOW");
  EXPECT_TRUE(page.links[1].follow);
  EXPECT_FALSE(page.links[2].follow);
  EXPECT_TRUE(page.links[3].follow);
}

TEST_P(BothEngines, Framesets) {
  const PageLinks page = links_of(
      "<html><frameset cols=a,b><frame src=left.html><frame src='right.html'></frameset></html>");
  EXPECT_THAT(described(page), ElementsAre("document frame@src /dir/left.html",
                                           "document frame@src /dir/right.html"));
  EXPECT_THAT(hrefs_of("<p>text<frame src=x>"), IsEmpty());
}

TEST_P(BothEngines, CountsWhatIsNoLink) {
  const PageLinks page = links_of(
      "<a href='mailto:a@b.example'></a><a href='javascript:void(0)'></a><a href='data:,x'></a>"
      "<iframe src='about:blank'></iframe><a href='http://'></a><a href='https://a b/'></a>"
      "<a name=x></a><area><iframe></iframe><link rel=x><img src=image.png><a href=ok></a>");
  EXPECT_EQ(page.links.size(), 1u);
  EXPECT_EQ(page.other_scheme, 4u);
  EXPECT_EQ(page.invalid, 2u);
}

TEST_P(BothEngines, EmptyReferences) {
  const PageLinks page =
      links_of("<a href=''></a><iframe src=''></iframe><link rel=next href=''><a href>");
  EXPECT_THAT(hrefs(page), ElementsAre("http://site.example/dir/page.html?q",
                                       "http://site.example/dir/page.html?q"));
  EXPECT_EQ(page.invalid + page.other_scheme, 0u);
}

TEST_P(BothEngines, ValuesAreDecodedAndStripped) {
  EXPECT_THAT(hrefs_of("<a href=' \n x?a=1&amp;b=2&copy=3 \t'>"),
              ElementsAre("http://site.example/dir/x?a=1&b=2&copy=3"));
  EXPECT_THAT(hrefs_of("<a href='&#x2f;y&sol;z'>"), ElementsAre("http://site.example/y/z"));
  EXPECT_THAT(hrefs_of("<a href=a href=b>"), ElementsAre("http://site.example/dir/a"));
}

TEST_P(BothEngines, FirstBaseHoldsForTheWholeDocument) {
  const PageLinks page = links_of(
      "<a href=before></a><base target=x><base href='//cdn.example/x/'><base href='/not/'>"
      "<a href=after></a>");
  EXPECT_THAT(hrefs(page),
              ElementsAre("http://cdn.example/x/before", "http://cdn.example/x/after"));
  ASSERT_TRUE(page.base);
  EXPECT_EQ(page.base->href(), "http://cdn.example/x/");
}

TEST_P(BothEngines, UnusableBaseIsIgnored) {
  for (const std::string_view bad : {"javascript:x", " Data:,x", "http://"}) {
    const PageLinks page =
        links_of(fmt::format("<base href='{}'><base href='/second/'><a href=x></a>", bad));
    EXPECT_THAT(hrefs(page), ElementsAre("http://site.example/dir/x")) << bad;
    EXPECT_FALSE(page.base);
  }
}

TEST_P(BothEngines, NoscriptCountsAndTemplateDoesNot) {
  EXPECT_THAT(hrefs_of("<body><noscript><a href=/n></a></noscript><template><a href=/t></a>"
                       "<base href=/x/><template></template><a href=/u></template><a href=/a></a>"),
              ElementsAre("http://site.example/n", "http://site.example/a"));
  EXPECT_THAT(hrefs_of("<head><noscript><link rel=next href=/n></noscript></head>"),
              ElementsAre("http://site.example/n"));
}

TEST_P(BothEngines, TextIsNoMarkup) {
  EXPECT_THAT(
      hrefs_of("<!-- <a href=/c> --><script>'<a href=/s>'</script><style><a href=/y></style>"
               "<textarea><a href=/t></textarea><title><a href=/i></title>"
               "<iframe src=/f><a href=/in></iframe><a title='<a href=/q>' href=/a>"
               "<script><!--<script></script><a href=/e>--></script><xmp><a href=/x></xmp>"),
      ElementsAre("http://site.example/f", "http://site.example/a"));
  EXPECT_THAT(hrefs_of("<a href=1><plaintext><a href=2></plaintext>"),
              ElementsAre("http://site.example/dir/1"));
}

TEST_P(BothEngines, FormsWithinForms) {
  const LinkOptions options{.kinds = {LinkKind::kForm}};
  EXPECT_THAT(hrefs(links_of("<form action=1><form action=2></form><form action=3 method=get>"
                             "</form><form action=4 method=post></form><form action=5 method=x>",
                             options)),
              ElementsAre("http://site.example/dir/1", "http://site.example/dir/3",
                          "http://site.example/dir/5"));
}

TEST_P(BothEngines, LinksInSelectAreNone) {
  EXPECT_THAT(hrefs_of("<select><option>1<a href=x>y</a></select><a href=z>"),
              ElementsAre("http://site.example/dir/z"));
  EXPECT_THAT(hrefs_of("<select><input><a href=x><select><option><select><a href=y>"),
              ElementsAre("http://site.example/dir/x", "http://site.example/dir/y"));
}

TEST_P(BothEngines, Svg) {
  EXPECT_THAT(hrefs_of("<svg><a href=/one /><a xlink:href=/two /><a xlink:href=/no href=/three></a>"
                       "<template><a href=/four></a></template><link rel=next href=/no></svg>"),
              ElementsAre("http://site.example/one", "http://site.example/two",
                          "http://site.example/three", "http://site.example/four"));
  EXPECT_THAT(hrefs_of("<a xlink:href=/no>"), IsEmpty());
  // Markup in SVG is markup; tags of HTML end it.
  EXPECT_THAT(hrefs_of("<svg><title>t</title><style><a href=/1></a></style><![CDATA[<a href=/2>]]>"
                       "<p><style><a href=/3></style><![CDATA[<a href=/4>]]>"),
              ElementsAre("http://site.example/1"));
  EXPECT_EQ(links_of("<svg><title>not</title></svg><title>the title</title>").title, "the title");
}

TEST_P(BothEngines, ForeignContent) {
  EXPECT_EQ(paths_of("<svg><svg><a href=/1></svg><image href=/2 /></svg><image src=/3>"),
            "/1 /2 /3");
  // An <svg> in <math> is not SVG, except in <annotation-xml>.
  EXPECT_EQ(paths_of("<svg><math><a href=/1></math></svg><math><svg><a href=/2></svg></math>"
                     "<math><annotation-xml><svg><a href=/3></svg></annotation-xml></math>"),
            "/1 /3");
  EXPECT_EQ(paths_of("<math><annotation-xml encoding=text/html><a href=/1></a></annotation-xml>"
                     "<annotation-xml><a href=/2></annotation-xml><mi><a href=/3></mi></math>"),
            "/1 /3");
  EXPECT_EQ(paths_of("<svg/><a href=/1><math/><a href=/2><svg><script/><a href=/3></svg><script/>"
                     "<a href=/4></script><svg><script><a href=/5></script></svg>"),
            "/1 /2 /3 /5");
  // No raw text in SVG.
  for (const std::string_view raw : {"textarea", "iframe", "xmp", "plaintext", "noframes"}) {
    EXPECT_EQ(paths_of(fmt::format("<svg><{0}><a href=/1></{0}></svg><a href=/2>", raw)), "/1 /2");
  }
  EXPECT_EQ(paths_of("<svg><title><b><a href=/1></b></title></svg><title>the title</title>"), "/1");
  EXPECT_EQ(paths_of("<svg><font><![CDATA[<a href=1>]]><font color=r><![CDATA[<a href=2>]]>"), "");
}

TEST_P(BothEngines, TemplatesEndWhatBeganInThem) {
  EXPECT_EQ(paths_of("<template><form action=/1></template><form action=/2><template><form "
                     "action=/3></form></template><form action=/4></form><form action=/5>"),
            "/2 /5");
  EXPECT_EQ(paths_of("<template><select></template><a href=/1><svg><template></svg><a href=/2>"
                     "<template><svg></template><a href=/3>"),
            "/1 /2 /3");
  // Where only columns are allowed, <style> makes no element and its text is markup.
  EXPECT_EQ(paths_of("<template><col><style></template><a href=/1></style>"), "/1");
}

TEST_P(BothEngines, SelectsEnd) {
  for (const std::string_view begin :
       {"<select></select>", "<svg><select></svg>", "<svg></select>", "<select><svg></select>",
        "<select><plaintext></select>", "<table><tr><td><select><table>", "<table><select></table>",
        "<table><tr><td><select></td>", "<table><select><caption>", "<select><textarea></textarea>",
        "<select><select>", "<select><keygen>"}) {
    EXPECT_EQ(paths_of(fmt::format("{}<a href=/1>", begin)), "/1") << begin;
  }
  for (const std::string_view begin : {"<select>", "<select><tr>", "<select><math>"}) {
    EXPECT_EQ(paths_of(fmt::format("{}<a href=/1>", begin)), "") << begin;
  }
}

TEST_P(BothEngines, PartsOfTablesStandInTables) {
  for (const std::string_view in :
       {"<table>", "<table><td>", "<table><caption>", "<table><td><table></table>",
        "<table><td></th><table></table>", "<table><caption></tr><table></table>",
        "<table><template></table></template>", "<table></template>", "<table><div>"}) {
    EXPECT_EQ(paths_of(fmt::format("{}<tr style='a:url(/1)'>", in)), "/1") << in;
  }
  for (const std::string_view out :
       {"", "<table></table>", "<table><table></table>", "<table><tr><table></table>",
        "<table><td></td><table></table>", "<table><td></tr><table></table>",
        "<table><td></tbody><table></table>", "<table><td><tr><table></table>",
        "<template><table></template>"}) {
    EXPECT_EQ(paths_of(fmt::format("{}<tr style='a:url(/1)'>", out)), "") << out;
  }
}

TEST_P(BothEngines, AttributesOfASecondHtmlOrBodyCount) {
  EXPECT_EQ(paths_of("<html style='a:url(/1)'><html style='a:url(/2)'><body>"
                     "<body style='a:url(/3)'><body style='a:url(/4)'>"),
            "/1 /3");
  EXPECT_EQ(paths_of("<select><html style='a:url(/1)'>"), "/1");
}

// An incomplete end tag at the end of the page is not text.
TEST_P(BothEngines, PagesCutOffInRawText) {
  for (const std::string_view cut : {"<title>t</title ", "<title>t</title/", "<title>t</title x='",
                                     "<title>t</title>", "<title>t"}) {
    EXPECT_EQ(links_of(cut).title, "t") << cut;
  }
  EXPECT_EQ(links_of("<title>t</title").title, "t</title");  // of a longer name, perhaps
  for (const std::string_view cut : {"{b:url(/2", "url(/2)</style url(3)", "url(/2)</style 3>"}) {
    EXPECT_EQ(paths_of(fmt::format("<style>@import '/1';{}", cut)), "/1 /2") << cut;
  }
}

TEST_P(BothEngines, StyleSheets) {
  EXPECT_THAT(hrefs(links_of("<style>@import '1'; a{b:url(2)} /*url(3)*/</style>"
                             "<p style=\"x:url('4')\"><svg><style>a{b:url(&#53;)}"
                             "<![CDATA[c{d:url(6)}]]></style></svg><template><style>a{b:url(7)}"
                             "</style></template>",
                             {.kinds = {LinkKind::kResource}})),
              ElementsAre("http://site.example/dir/1", "http://site.example/dir/2",
                          "http://site.example/dir/4", "http://site.example/dir/5",
                          "http://site.example/dir/6"));
}

TEST_P(BothEngines, MisnestedPagesKeepTheirLinks) {
  // In the order of the source, though the tree has the first one before the table.
  EXPECT_THAT(
      hrefs_of("<table><tr><td><a href=/1>x</td></tr><a href=/2></table><b><p><a href=/3>"
               "</b></a>"),
      ElementsAre("http://site.example/1", "http://site.example/2", "http://site.example/3"));
  EXPECT_THAT(hrefs_of("\xEF\xBB\xBF<a href=/1"), IsEmpty());
  EXPECT_THAT(hrefs_of("\xEF\xBB\xBF<a href=/1>"), ElementsAre("http://site.example/1"));
  EXPECT_THAT(hrefs_of(""), IsEmpty());
}

TEST_P(BothEngines, BytesThatAreNoUtf8) {
  EXPECT_THAT(hrefs_of(std::string_view("<a href='/\xFF\0x'>", 16)),
              ElementsAre("http://site.example/%EF%BF%BD%EF%BF%BDx"));
  // What URLs and style sheets leave out does not join the bytes around it.
  const std::string three = "/%EF%BF%BD%EF%BF%BD%EF%BF%BD";
  EXPECT_EQ(paths_of("<a href='/\xEF\t\xBF\xBD'>"), three);
  for (const std::string_view css :
       {"<style>a{{{}}}</style>", "<svg><style>a{{{}}}</style></svg>", "<p style=\"{}\">"}) {
    EXPECT_EQ(paths_of(fmt::format(fmt::runtime(css), "b:url('/\xEF\\\n\xBF\xBD')")), three) << css;
  }
  // U+F423F together with U+0001, U+FFFF, U+1FFFE.
  EXPECT_EQ(paths_of("<a href='/&#999999;\x01\xEF\xBF\xBF\xF0\x9F\xBF\xBE'>"),
            "/%F3%B4%88%BF%01%EF%BF%BF%F0%9F%BF%BE");
}

TEST_P(BothEngines, SizeLimits) {
  const std::string page = "<a href=/x>" + repeated("<br>", 25'000);
  EXPECT_EQ(links_of(page, {.max_bytes = page.size()}).links.size(), 1u);
  EXPECT_EQ(links_of(page, {.max_bytes = page.size() - 1}).skipped, LinksSkipped::kTooLarge);
  EXPECT_EQ(links_of(page, {.max_memory = 0}).skipped, LinksSkipped::kTooLarge);
}

TEST_P(BothEngines, LongBaseDoesNotMultiply) {
  const std::string page =
      "<base href=/" + std::string(100'000, 'b') + "/>" + repeated("<a href=x>", 10'000);
  const PageLinks links = links_of(page, {.max_time = std::chrono::minutes(10)});
  EXPECT_EQ(links.skipped, LinksSkipped::kTooLarge);
  EXPECT_TRUE(links.links.empty());
  EXPECT_FALSE(links.base);
}

TEST_P(BothEngines, AnExtractorKeepsNothingOfThePageBefore) {
  LinkExtractor extractor({.engine = GetParam()});
  PageLinks page;
  extractor.extract_into(
      "<title>t</title><base href=/b/><link rel=canonical href=c><meta name=robots content=none>"
      "<meta http-equiv=refresh content=1><a href=1 rel=nofollow><a href=2><a href='x:'><a "
      "href=http://>",
      "", kPageUrl, page);
  ASSERT_EQ(page.links.size(), 3u);
  extractor.extract_into("<a href=3>", "", kPageUrl, page);
  EXPECT_THAT(hrefs(page), ElementsAre("http://site.example/dir/3"));
  EXPECT_TRUE(page.links[0].follow);
  EXPECT_EQ(page.links[0].rel, "");
  EXPECT_EQ(page.title, "");
  EXPECT_EQ(page.robots, RobotsDirectives());
  EXPECT_FALSE(page.base || page.canonical || page.refresh);
  EXPECT_EQ(page.invalid + page.other_scheme, 0u);
}

TEST_P(BothEngines, Encodings) {
  LinkExtractor extractor({.engine = GetParam()});
  const auto of = [&](std::string_view bytes, std::string_view type) {
    return hrefs(extractor.extract(bytes, type, kPageUrl));
  };
  // U+65E5 in a path and in a query: paths are UTF-8, queries are in the page's encoding.
  EXPECT_THAT(of("<a href='\x93\xFA?\x93\xFA'>", "text/html; charset=Shift_JIS"),
              ElementsAre("http://site.example/dir/%E6%97%A5?%93%FA"));
  EXPECT_THAT(of("<meta charset=gbk><a href='\xC8\xD5?\xC8\xD5#\xC8\xD5'>", "text/html"),
              ElementsAre("http://site.example/dir/%E6%97%A5?%C8%D5#%E6%97%A5"));
  EXPECT_THAT(of("<a href='\xE9?\xE9=&#26085;'>", "text/html; charset=iso-8859-1"),
              ElementsAre("http://site.example/dir/%C3%A9?%E9=%26%2326085%3B"));
  EXPECT_THAT(of("<a href='\xE9'>", ""), ElementsAre("http://site.example/dir/%C3%A9"));
  EXPECT_THAT(of("<a href='\xC3\xA9'>", ""), ElementsAre("http://site.example/dir/%C3%A9"));
  using namespace std::string_literals;
  EXPECT_THAT(of("\xFF\xFE<\0a\0 \0h\0r\0e\0f\0=\0\xE5\x65?\0\xE5\x65>\0"s, "text/html"),
              ElementsAre("http://site.example/dir/%E6%97%A5?%E6%97%A5"));
}

TEST_P(BothEngines, RandomTagSoupGivesOnlyUrls) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  const auto pieces = split(
      "<a href=x>|</a>|<b>|</b>|<p>|</p>|<table>|</table>|<td>|<tr>|<svg>|</svg>|<math>|"
      "<select>|<option>|<template>|</template>|<frameset>|<frame src=y>|<body>|</body>|"
      "<html>|</html>|<head>|</head>|<script>|</script>|<!--|-->|text| |<base href=/b/>|<i>|"
      "</i>|<div>|</div>|<form>|<button>|<desc>|<title>|</title>|<caption>|<col>|<noscript>|"
      "<iframe src=z>|<h1>|<li>|<link href=l>|<nobr>|<style>|</style>|<![CDATA[|]]>|"
      "</select>|</desc>|<font color=r>|<form action=f>|</form>|<mi>|<foreignObject>|</p>|"
      "</br>",
      '|');
  for (int round = 0; round < 3000; ++round) {
    std::string page;
    for (std::size_t length = random() % 60; length > 0; --length) {
      page += pieces[random() % pieces.size()];
    }
    for (const Link& link : links_of(page, {.kinds = LinkKinds::all()}).links) {
      ASSERT_TRUE(Url::parse(link.url.href())) << page;
    }
  }
}

// Where Gumbo would give up, the scanner's links count.
TEST(LinkExtractor, DeepPagesKeepTheirLinks) {
  for (const std::string_view tag : {"<div>", "<table><tr><td>", "<b>", "<svg>", "<svg><desc>"}) {
    const PageLinks page = extract_links(repeated(tag, 150'000) + "<a href=/x>", kPageUrl);
    EXPECT_EQ(page.skipped, LinksSkipped::kNo) << tag;
    EXPECT_EQ(page.engine, LinkEngine::kScanner) << tag;
    EXPECT_THAT(hrefs(page), ElementsAre("http://site.example/x")) << tag;
  }
}

TEST(LinkExtractor, GumboIsAskedWhereTheTreeDecides) {
  for (const std::string_view html :
       {"<frameset><frame src=x>", "<select><a href=x></select>", "<svg><foreignObject><a href=x>",
        "<div><svg></div><a href=x>"}) {
    EXPECT_EQ(extract_links(html, kPageUrl).engine, LinkEngine::kGumbo) << html;
  }
  for (const std::string_view html :
       {"<table><a href=x></table>", "<svg><path/></svg><a href=x>", "<b><p></b><a href=x>",
        "<template><a href=x></template>", "<select><option>x</select>"}) {
    EXPECT_EQ(extract_links(html, kPageUrl).engine, LinkEngine::kScanner) << html;
  }
}

// With each of these, Gumbo alone takes minutes or gigabytes, or overflows the stack.
TEST_P(BothEngines, HostilePagesComeBack) {
  const std::string distinct = [] {
    std::string fonts;
    for (int i = 0; i < 20'000; ++i)
      fonts += fmt::format("<p><font size={}>x", i);
    return fonts;
  }();
  const std::string text(1u << 20, 'x');
  const std::string pages[] = {
      repeated("<x>", 1'000'000) + "<frameset>",
      repeated("<div>", 100'000) + repeated("</div>", 100'000),
      repeated("<a>", 20'000),
      repeated("<table><b>x", 20'000),
      repeated("<b><p></b>", 400'000),
      repeated("<div>", 500) + "<b>" + text,
      repeated("<svg><title>", 100'000),
      repeated("<svg><style>", 100'000),
      repeated("<svg>", 500'000) + repeated("</p0>", 500'000),
      repeated("<template>", 100'000),
      repeated("<a ", 1'000'000),
      repeated("<a href=\"", 1'000'000),
      repeated("<title>", 1'000'000),
      std::string(4u << 20, '<'),
      distinct,
  };
  for (const std::string& page : pages) {
    const PageLinks links = links_of(page, {.kinds = LinkKinds::all()});
    EXPECT_LE(links.links.size(), page.size()) << page.substr(0, 40);
  }
}

// An assertion of Gumbo's fails on such a page; the process must not end with it.
TEST(LinkExtractor, APageGumboFailsOnIsSkipped) {
  const std::string page = "<table><svg><select><title><select></table><a href=x>";
  LinkExtractor extractor({.engine = LinkEngine::kGumbo});
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(extractor.extract(page, "", kPageUrl).skipped, LinksSkipped::kUnparsable);
    EXPECT_EQ(extractor.extract("<a href=x>", "", kPageUrl).links.size(), 1u);
  }
}

}  // namespace
}  // namespace trawl
