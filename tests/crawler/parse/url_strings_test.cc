#include "crawler/parse/scripts/url_strings.h"

#include <chrono>
#include <deque>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/parse/scripts/script_reader.h"
#include "tests/support/repeated.h"

namespace trawl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> found_in(std::string_view text) {
  std::deque<std::string> made;
  UrlStrings strings(text, made);
  std::vector<std::string> found;
  while (const auto next = strings.next())
    found.emplace_back(*next);
  return found;
}

TEST(UrlStrings, LookLikeUrls) {
  EXPECT_THAT(found_in(R"(a("http://x.test/a?b=1"), b('HTTPS://y.test'), c(`//cdn.test/z`))"),
              ElementsAre("http://x.test/a?b=1", "HTTPS://y.test", "//cdn.test/z"));
  EXPECT_THAT(found_in(R"(["/a", "/ab", "./b", "../c", "dir/d.html#e", "f.PNG?v=2", "x.woff2"])"),
              ElementsAre("/ab", "./b", "../c", "dir/d.html#e", "f.PNG?v=2", "x.woff2"));
}

TEST(UrlStrings, AreNotOtherTexts) {
  for (const char* text : {R"("text/html")",
                           R"("a b.html")",
                           R"("")",
                           R"("/")",
                           R"("//")",
                           R"("// comment")",
                           R"("./")",
                           R"("hello.world")",
                           R"("1.5")",
                           R"("{x}.png")",
                           R"("*.js")",
                           R"("(a).css")",
                           R"("http://")",
                           R"("//localhost")",
                           R"("node:fs.js")",
                           R"(".png")",
                           R"("a/.png")",
                           R"("mailto:a@b.html")",
                           R"("unclosed.html)",
                           "\"line\nbreak.html\""})
    EXPECT_THAT(found_in(text), IsEmpty()) << text;
}

TEST(UrlStrings, AreFoundBehindQuotesThatMeanNothing) {
  EXPECT_THAT(found_in("// don't\nvar a = \"/b.html\";"), ElementsAre("/b.html"));
  EXPECT_THAT(found_in(R"(/"/.test(x) ? 'y.html' : "z.html")"), ElementsAre("y.html", "z.html"));
  EXPECT_THAT(found_in(R"('<a href="/in.html">')"), ElementsAre("/in.html"));
}

TEST(UrlStrings, EscapesAreDecoded) {
  EXPECT_THAT(found_in(R"("http:\/\/x.test\/a", "\x2fb\u002Fc", "\u00e9.html")"),
              ElementsAre("http://x.test/a", "/b/c", "\u00e9.html"));
  for (const char* text : {R"("/a\nb")", R"("/\u12")", R"("/\ud83d")", R"("/\xzz")", R"("/a\)"})
    EXPECT_THAT(found_in(text), IsEmpty()) << text;
}

TEST(UrlStrings, OfHostileTextsTakeLinearTime) {
  for (const char* piece : {"\"", "'", "\"'`", "\\\"", "\"a", "'\\", "\"a'b`c\\\"d", "/x.js\""}) {
    const std::string text = test::repeated(piece, 1'000'000);
    const auto begun = std::chrono::steady_clock::now();
    found_in(text);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5)) << piece;
  }
  EXPECT_THAT(found_in('"' + std::string(1'000'000, 'a') + ".html\""), IsEmpty());
}

TEST(ScriptReader, UsesABoundedNumberOfGuesses) {
  ScriptReader reader(1u << 20);
  PageLinks page;
  const Url base = *Url::parse("http://a.test/dir/");
  reader.read_into(R"(f("b.html", "http://[", "../c/"))", base, page);
  ASSERT_EQ(page.links.size(), 2u);
  EXPECT_EQ(page.links[0].url.href(), "http://a.test/dir/b.html");
  EXPECT_EQ(page.links[1].url.href(), "http://a.test/c/");
  EXPECT_EQ(page.links[0].kind, LinkKind::kGuess);
  reader.read_into(test::repeated("'/abc',", 5'000), base, page);
  EXPECT_EQ(page.links.size(), kMostGuesses);
  reader.read_into(std::string(2u << 20, ' '), base, page);
  EXPECT_EQ(page.skipped, LinksSkipped::kTooLarge);
}

}  // namespace
}  // namespace trawl
