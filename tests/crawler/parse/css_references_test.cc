#include "crawler/parse/css/css_references.h"

#include <deque>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/random_text.h"
#include "tests/support/repeated.h"

namespace trawl {
namespace {

using namespace std::string_literals;
using Urls = std::vector<std::string>;

Urls urls(std::string_view css, CssSource source = CssSource::kStyleSheet) {
  Urls result;
  std::deque<std::string> made;
  CssReferences references(css, source, made);
  while (const auto found = references.next())
    result.emplace_back(found->url);
  return result;
}

TEST(CssReferences, Urls) {
  EXPECT_EQ(urls(""), Urls{});
  EXPECT_EQ(urls("a{background:url(x.png)}"), Urls{"x.png"});
  EXPECT_EQ(urls("a{background:URL( \n x.png\t)}b{src:Url('y z'),uRL( \"w\" )}"),
            (Urls{"x.png", "y z", "w"}));
  EXPECT_EQ(urls("a{b:url()url('')url( )url(\"\")url(x)}"), Urls{"x"});
  EXPECT_EQ(urls("a{b:url(data:,x)url(#id)url('#id')url( ' #id')url(x#id)}"),
            (Urls{"data:,x", "x#id"}));
  EXPECT_EQ(urls("<!-- a{b:url(x)} --> a{b:url(y)}-->url(z)"), (Urls{"x", "y", "z"}));
  EXPECT_EQ(urls("<!--url(x)--url(y)<!-url(y)<url(z)"), (Urls{"x", "z"}));
}

TEST(CssReferences, OtherFunctionsAndNames) {
  EXPECT_EQ(urls("a{b:myurl(x) url-prefix(x) urls(x) -url(x) --url(x) _url(x) 5url(x) #url(x)}"),
            Urls{});
  EXPECT_EQ(urls("a{b:url (x) @url(x) 1.5url(x) 1e5url(x) -5url(x) \xC3\xA4url(x)}"), Urls{});
  EXPECT_EQ(urls("a{b:+url(x),url(y) 1.url(z) 1+url(u) image-set(url(v) 1x) 5\\75rl(w)}"),
            (Urls{"x", "y", "z", "u", "v"}));
}

TEST(CssReferences, CommentsAndStringsHideUrls) {
  EXPECT_EQ(urls("/*url(a)*/b{c:url(d)}/* url(e) * / url(f) **/url(g)/*/url(h)"), (Urls{"d", "g"}));
  EXPECT_EQ(urls("a{content:'url(a)' \"url(b) \\\" url(c)\";d:url(e)}"), Urls{"e"});
  EXPECT_EQ(urls("a{b:url(/*c*/d)}"), Urls{"/*c*/d"}) << "no comments in unquoted URLs";
  EXPECT_EQ(urls("a{b:url(/*c*/'d')}e{f:url(g)}"), Urls{"g"});
  EXPECT_EQ(urls("a{b:url/**/(c)}"), Urls{});
  EXPECT_EQ(urls("a/url(b)/*"), Urls{"b"});
}

TEST(CssReferences, Escapes) {
  EXPECT_EQ(urls("a{b:url(x\\)y\\28 z)}"), Urls{"x)y(z"});
  EXPECT_EQ(urls("a{b:url('\\'\\\"\\66oo\\0066oo\\000066oo')}"), Urls{"'\"foofoofoo"});
  EXPECT_EQ(urls("a{b:\\75\\52\\4c(x)u\\r\\6C(y)}"), (Urls{"x", "y"})) << "\\r is an r";
  EXPECT_EQ(urls("a{b:url(\\e9 t\\E9\r\nt\\1F600\tx)}"), Urls{"\u00e9t\u00e9t\U0001F600x"});
  EXPECT_EQ(urls("a{b:url(\\0 \\d800 \\110000 \\ffffff)}"), Urls{"\uFFFD\uFFFD\uFFFD\uFFFD"});
  EXPECT_EQ(urls("a{b:url('c\\\nd\\\r\ne\\\ff\\\rg')}"), Urls{"cdefg"});
  EXPECT_EQ(urls("a{b:url(c\\"), Urls{"c\uFFFD"});
  EXPECT_EQ(urls("a{b:url('c\\"), Urls{"c"});
  EXPECT_EQ(urls("a{b:url(\\23id)url(\\20)url(\\20\\23 x)}"), Urls{}) << "fragments, blanks";
  EXPECT_EQ(urls("a{b:url(\\\xC3\xA9)}"), Urls{"\u00e9"});
}

TEST(CssReferences, NulsAreReplaced) {
  EXPECT_EQ(urls("a{b:url(c\0d)url('\0')url(\\\0)}"s), (Urls{"c\uFFFDd", "\uFFFD", "\uFFFD"}));
  EXPECT_EQ(urls("a{b:u\0rl(c)url\0(d)\0url(e)}"s), Urls{});
}

TEST(CssReferences, BadUrls) {
  EXPECT_EQ(urls("a{b:url(c d)url(e)}"), Urls{"e"});
  EXPECT_EQ(urls("a{b:url(c'd)url(e)}"), Urls{"e"});
  EXPECT_EQ(urls("a{b:url(c\"d)url(e)}"), Urls{"e"});
  EXPECT_EQ(urls("a{b:url(c(d)url(e)}"), Urls{"e"});
  EXPECT_EQ(urls("a{b:url(c\x01)url(d\x7F)url(e\x0B)url(f\x1F)url(\x0Eg)url(h)}"), Urls{"h"});
  EXPECT_EQ(urls("a{b:url(c\\\nd)url(e)}"), Urls{"e"});
  EXPECT_EQ(urls("a{b:url(c d\\)url(e)url(f)}"), Urls{"f"}) << "\\) does not end it";
  EXPECT_EQ(urls("a{b:url(c d"), Urls{});
  EXPECT_EQ(urls("a{b:url(c d\\"), Urls{});
}

TEST(CssReferences, BadStrings) {
  EXPECT_EQ(urls("a{b:'c\n;d:url(e)}"), Urls{"e"});
  EXPECT_EQ(urls("a{b:url('c\n');d:url(e)}"), Urls{}) << "the second quote opens a string";
  EXPECT_EQ(urls("a{b:url('c\r);d:url(e)}"), Urls{"e"});
  EXPECT_EQ(urls("a{b:\"c\f;d:url(e)}"), Urls{"e"});
}

TEST(CssReferences, TheEndClosesEverything) {
  EXPECT_EQ(urls("a{b:url(c"), Urls{"c"});
  EXPECT_EQ(urls("a{b:url(c "), Urls{"c"});
  EXPECT_EQ(urls("a{b:url('c"), Urls{"c"});
  EXPECT_EQ(urls("a{b:url('c'"), Urls{"c"});
  EXPECT_EQ(urls("a{b:url("), Urls{});
  EXPECT_EQ(urls("@import 'c"), Urls{"c"});
  EXPECT_EQ(urls("@import url(c"), Urls{"c"});
  for (const std::string_view end :
       {"@", "\\", "<", "<!-", "-", "--", "#", "/", "/*", "url", "@import"})
    EXPECT_EQ(urls(end), Urls{}) << end;
}

TEST(CssReferences, Imports) {
  EXPECT_EQ(urls("@import 'a';@IMPORT\"b\" print;@import/**/ url(c) screen;@im\\port url('d');"),
            (Urls{"a", "b", "c", "d"}));
  EXPECT_EQ(urls("@charset 'utf-8'; @layer x, y; @import 'a';"), Urls{"a"});
  EXPECT_EQ(urls("@import; 'a'; @import x 'a'; @imports 'a'; import 'a'; @ import 'a';"), Urls{});
  EXPECT_EQ(urls("@import 'a' supports(background: url(b)); c{d:url(e)}"), (Urls{"a", "e"}));
  EXPECT_EQ(urls("a{} @import 'b'; @import url(c); d{e:url(f)}"), Urls{"f"});
  EXPECT_EQ(urls("@import '';@import '#a';@import url();@import 'b'"), Urls{"b"});
}

// The references with their uses: "font x".
Urls uses(std::string_view css) {
  Urls result;
  std::deque<std::string> made;
  CssReferences references(css, CssSource::kStyleSheet, made);
  while (const auto found = references.next())
    result.push_back(fmt::format("{} {}", to_string(found->use), found->url));
  return result;
}

TEST(CssReferences, Uses) {
  EXPECT_EQ(uses("@import 'a';@import url(b) print;c{background:url(d)}"),
            (Urls{"import a", "import b", "image d"}));
  EXPECT_EQ(uses("@font-face{src:url(a) format('woff'),url('b')}c{d:url(e)}"),
            (Urls{"font a", "font b", "image e"}));
  EXPECT_EQ(uses("@media print{@FONT-FACE /*x*/ {src:local('x y'),url(a)}b{c:url(d)}}e{f:url(g)}"),
            (Urls{"font a", "image d", "image g"}));
  EXPECT_EQ(uses("@font\\2d face{src:url(a)}@font-face;b{c:url(d)}@font-faces{src:url(e)}"),
            (Urls{"font a", "image d", "image e"}));
}

TEST(CssReferences, ImageSets) {
  EXPECT_EQ(urls("a{b:image-set('c' 1x,url(d) 2x, \"e\" type('image/png') 3x),'f';g:'h'}"),
            (Urls{"c", "d", "e"}));
  EXPECT_EQ(urls("a{b:-webkit-image-set('c' 1x) 'd';e:Image-Set(url('f') 1x,'g' 2x)}"),
            (Urls{"c", "f", "g"}));
  EXPECT_EQ(urls("a{b:cross-fade(image-set('c' 1x),'d');e:calc((1px + 2px)*2) 'f'}"), Urls{"c"});
  EXPECT_EQ(urls("a{b:image-set(linear-gradient('c'),(('d')),'e' 1x)}"), Urls{"e"});
  EXPECT_EQ(urls("a{b:image-set('' 1x,'#c' 2x,'d' 3x)}"), Urls{"d"});
  EXPECT_EQ(urls("a{b:my-image-set('c') image-sets('c') image-set ('c') #image-set('c')}"), Urls{});
  EXPECT_EQ(urls("a{b:image-set('c' 1x;d:'e'}f{g:'h'}"), Urls{"c"}) << "not closed";
  EXPECT_EQ(urls("a{b:im\\61ge-set('c' 1x)}"), Urls{"c"});
  EXPECT_EQ(urls("@supports (a:image-set('b' 1x)){c{d:image-set('e' 1x)}}"), Urls{"e"});
}

TEST(CssReferences, PreludesLoadNothing) {
  EXPECT_EQ(urls("@namespace url(http://www.w3.org/2000/svg);a{b:url(c)}"), Urls{"c"});
  EXPECT_EQ(urls("@document url(a){b{c:url(d)}}"), Urls{"d"});
  EXPECT_EQ(urls("@supports (a:url(b)){c{d:url(e)}}"), Urls{"e"});
  EXPECT_EQ(urls("@font-face{src:url(a),url(b)}"), (Urls{"a", "b"}));
  EXPECT_EQ(urls("a{@b url(c)}d{e:url(f)}"), Urls{"f"});
}

TEST(CssReferences, StyleAttributes) {
  const auto style = [](std::string_view css) { return urls(css, CssSource::kDeclarations); };
  EXPECT_EQ(style("background:url(a)"), Urls{"a"});
  EXPECT_EQ(style("color:red"), Urls{});
  EXPECT_EQ(style("@import 'a'; b:url(c)"), Urls{"c"});
  EXPECT_EQ(style("@import url(a); b:url(c)"), Urls{"c"});
  EXPECT_EQ(style("background:\\75 rl(a)"), Urls{"a"});
}

TEST(CssReferences, ViewsLieInTheSheetUnlessUnescaped) {
  const std::string css = "a{b:url(plain)url(e\\73 caped)url('quoted')}";
  std::deque<std::string> made;
  CssReferences references(css, CssSource::kStyleSheet, made);
  EXPECT_EQ(references.next()->url.data(), css.data() + css.find("plain"));
  const auto escaped = references.next();
  EXPECT_EQ(escaped->url.data(), made.front().data());
  EXPECT_EQ(references.next()->url.data(), css.data() + css.find("quoted"));
  EXPECT_EQ(made, std::deque<std::string>{"escaped"});
}

TEST(CssReferences, LargeSheets) {
  const auto repeat = [](std::string_view text) { return test::repeated(text, 1'000'000); };
  EXPECT_EQ(urls(repeat("url(a)")).size(), 1'000'000u);
  EXPECT_EQ(urls(repeat("url(\\a b)")).size(), 1'000'000u);
  for (const std::string_view text :
       {"url(", "'", "\"\n", "/*", "@import", "@import ", "\\", "\\0", "-", "<!-", "(", "#", "url",
        "\\75", "url( x y", "url(\\\n"}) {
    EXPECT_LE(urls(repeat(text)).size(), 1u) << text;
  }
}

// For any bytes: no URL is empty or only a fragment, and parsing ends.
TEST(CssReferences, RandomSheets) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  constexpr std::string_view kPieces[] = {
      "url(", "'",  "\"", ")",  "\\",   "\n",   "@import",    " ",         "{",
      "}",    ";",  "/*", "*/", "#",    "a",    "75",         "-",         "<!--",
      "-->",  "\r", "@x", "(",  "\x01", "\xC3", "image-set(", "@font-face"};
  for (int round = 0; round < 50'000; ++round) {
    const std::string css = test::random_text(random, kPieces, random() % 20);
    for (const CssSource source : {CssSource::kStyleSheet, CssSource::kDeclarations}) {
      for (const std::string& url : urls(css, source)) {
        const auto first = url.find_first_not_of(std::string_view("\0 \n\r\t\x01", 6));
        ASSERT_NE(first, std::string::npos) << css;
        ASSERT_NE(url[first], '#') << css;
      }
    }
  }
}

}  // namespace
}  // namespace trawl
