#include "crawler/patterns/url_pattern.h"

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trawl/url.h"

#include "crawler/patterns/url_pattern_set.h"

namespace trawl {
namespace {

UrlPattern pattern(std::string_view text) {
  auto parsed = UrlPattern::parse(text);
  if (!parsed) ADD_FAILURE() << parsed.error().message;
  return parsed ? *parsed : *UrlPattern::parse("*");
}

bool matches(std::string_view text, std::string_view href) {
  return pattern(text).matches(href);
}

// What globs mean, by the textbook; for whole hrefs alone.
bool glob_matches(std::string_view glob, std::string_view text) {
  std::vector<bool> row(text.size() + 1, false);
  row[0] = true;
  for (const char c : glob) {
    std::vector<bool> next(text.size() + 1, false);
    if (c == '*') {
      bool any = false;
      for (std::size_t i = 0; i <= text.size(); ++i)
        next[i] = any = any || row[i];
    } else {
      for (std::size_t i = 0; i < text.size(); ++i)
        next[i + 1] = row[i] && (c == '?' || c == text[i]);
    }
    row = std::move(next);
  }
  return row.back();
}

TEST(UrlPattern, AGlobMatchesFromEndToEnd) {
  EXPECT_TRUE(matches("http://example.com/a*", "http://example.com/abc"));
  EXPECT_TRUE(matches("http://example.com/a*", "http://example.com/a"));
  EXPECT_FALSE(matches("http://example.com/a*", "http://example.com/b/a"));
  EXPECT_FALSE(matches("http://example.com/a", "http://example.com/ab"));
  EXPECT_TRUE(matches("*.pdf", "https://example.com/x.pdf"));
  EXPECT_FALSE(matches("*.pdf", "https://example.com/x.pdf?y"));
  EXPECT_FALSE(matches("*.pdf", "https://example.com/xApdf")) << "a dot is a dot";
  EXPECT_TRUE(matches("*/a?c/*", "http://h/abc/"));
  EXPECT_TRUE(matches("*/a?c", "http://h/a?c"));
  EXPECT_FALSE(matches("*/a?c", "http://h/ac"));
  EXPECT_TRUE(matches("*", "http://h/"));
  EXPECT_FALSE(matches("*/PATH", "http://h/path")) << "case counts";
}

TEST(UrlPattern, WithoutASchemeAGlobHoldsForBoth) {
  for (const char* scheme : {"http://", "https://"}) {
    const std::string at(scheme);
    EXPECT_TRUE(matches("example.com/docs/*", at + "example.com/docs/x"));
    EXPECT_FALSE(matches("example.com/docs/*", at + "www.example.com/docs/x"));
    EXPECT_FALSE(matches("example.com/docs/*", at + "h/?u=http://example.com/docs/x"));
  }
  EXPECT_FALSE(matches("https://example.com/*", "http://example.com/"));
  EXPECT_TRUE(matches("*example.com/*", "http://www.example.com/"));
  EXPECT_TRUE(matches("*://example.com/*", "https://example.com/"));
  EXPECT_TRUE(matches("http*://example.com/*", "https://example.com/"));
  EXPECT_TRUE(matches("example.com/r?u=http://*", "http://example.com/r?u=http://h/"))
      << "text in a query is not a scheme";
  EXPECT_TRUE(matches("??.test/", "http://ab.test/"));
}

TEST(UrlPattern, APasswordHidesNoHost) {
  for (const char* text : {"example.com/*", "http://example.com/*"}) {
    EXPECT_TRUE(matches(text, "http://user:pw@example.com/x")) << text;
    EXPECT_TRUE(matches(text, "http://user@example.com/x")) << text;
    EXPECT_FALSE(matches(text, "http://example.com@evil.test/x")) << text;
    EXPECT_FALSE(matches(text, "http://evil.test/@example.com/x")) << text;
  }
}

TEST(UrlPattern, ARegularExpressionIsFoundAnywhere) {
  EXPECT_TRUE(matches(R"(re:/\d{4}/\d\d?/)", "http://h/cal/2024/7/x"));
  EXPECT_FALSE(matches(R"(re:/\d{4}/\d\d?/)", "http://h/cal/24/7/x"));
  EXPECT_TRUE(matches("re:^https:", "https://h/"));
  EXPECT_FALSE(matches("re:^https:", "http://h/?https:"));
  EXPECT_TRUE(matches("re:(?i)\\.JPE?G$", "http://h/a.jpg"));
  EXPECT_TRUE(matches("re:a|b", "http://h/b"));
}

TEST(UrlPattern, TextIsWhatWasWritten) {
  EXPECT_EQ(pattern("*.pdf").text(), "*.pdf");
  EXPECT_EQ(pattern("re:a+").text(), "re:a+");
}

TEST(UrlPattern, RefusesWhatCannotMatchAndSaysWhy) {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"", "empty"},
      {"re:", "empty"},
      {"re:(", "regular expression"},
      {"re:(?=x)", "regular expression"},
      {"re:(a{1000}){1000}", "regular expression"},
      {"example.com/ä", "ASCII"},
      {"example.com/a b", "space"},
      {std::string("a\0b", 3), "control character"},
      {"example.com/#top", "fragment"},
      {std::string(UrlPattern::kMaxLength + 1, 'a'), "longer"},
  };
  for (const auto& [text, why] : bad) {
    const auto parsed = UrlPattern::parse(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(parsed.error().message, testing::HasSubstr(why));
    EXPECT_LT(parsed.error().message.size(), 500u);
  }
}

TEST(UrlPattern, RefusesGlobsThatNoUrlMatchesAndTellsBetterOnes) {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"/private/*", "\"*/private/*\""},
      {"//cdn.test/*", "\"*//cdn.test/*\""},
      {"example.com", "\"example.com/*\""},
      {"https://example.com", "\"https://example.com/*\""},
      {"*://example.com", "\"*://example.com/*\""},
      {"*.example.com", "\"*.example.com/*\""},
      {"Example.com/*", "\"example.com\" instead of \"Example.com\""},
      {"http://example.COM/*", "\"example.com\""},
      {"WWW.*", "upper case"},
      {"ftp://example.com/*", "scheme other than"},
      {"ttp://example.com/", "scheme other than"},
      {"HTTP://example.com/", "scheme other than"},
      {"f*://example.com/", "scheme other than"},
      {"http://example.com:80/*", "\"example.com\" instead of \"example.com:80\""},
      {"https://example.com:443/*", "instead of \"example.com:443\""},
      {"example.com:0080/*", "instead of \"example.com:0080\""},
      {"0x7f.1/*", "\"127.0.0.1\""},
      {"http:///x", "no host"},
      {"exa^mple.com/*", "an invalid host"},
  };
  for (const auto& [text, why] : bad) {
    const auto parsed = UrlPattern::parse(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(parsed.error().message, testing::HasSubstr("\"" + text + "\""));
    EXPECT_THAT(parsed.error().message, testing::HasSubstr(why));
  }
}

TEST(UrlPattern, TakesGlobsThatAUrlMatches) {
  const std::vector<std::pair<std::string, std::string>> good{
      {"*.pdf", "http://h/x.pdf"},
      {"*.tar.gz", "http://h/x.tar.gz"},
      {"*.com", "http://h/format.com"},
      {"*/private/*", "http://h/private/"},
      {"*example.com/*", "http://www.example.com/"},
      {"*.example.com/*", "http://www.example.com/"},
      {"example.com*", "http://example.com:81/"},
      {"example.com/", "https://example.com/"},
      {"example.com?x", "http://example.com/x"},
      {"example.com:80/*", "https://example.com:80/"},
      {"example.com:443/*", "http://example.com:443/"},
      {"http://example.com:443/*", "http://example.com:443/"},
      {"http://example.com:80*", "http://example.com:8080/"},
      {"Me:PW@example.com/*", "http://Me:PW@example.com/"},
      {"[::1]:81/*", "http://[::1]:81/"},
      {"h?.test/*", "http://h1.test/"},
      {"xn--bcher-kva.test/*", "https://xn--bcher-kva.test/"},
      {"*://example.com/*", "https://example.com/"},
      {"?*", "http://h/"},
  };
  for (const auto& [text, href] : good) {
    EXPECT_TRUE(matches(text, href)) << text;
    EXPECT_EQ(Url::parse(href)->href(), href);
  }
}

TEST(UrlPattern, GlobsOfRandomBytesMeanWhatTheTextbookSays) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  constexpr std::string_view kBytes = "ab*?/.+([{\\$^|)]}-";
  const auto text = [&](std::size_t longest, std::size_t bytes) {
    std::string out;
    for (std::size_t n = random() % (longest + 1); n > 0; --n)
      out += kBytes[random() % bytes];
    return out;
  };
  int matched = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string glob = fmt::format("*{}", text(8, kBytes.size()));
    // Every other one is the glob itself, which matches.
    const std::string href = i % 2 == 0 ? fmt::format("http:{}", glob)
                                        : fmt::format("http://h/{}", text(8, kBytes.size()));
    const bool expected = glob_matches(glob, href);
    matched += expected ? 1 : 0;
    ASSERT_EQ(matches(glob, href), expected) << glob << " on " << href;
  }
  EXPECT_GT(matched, 1000);
}

TEST(UrlPattern, ManyStarsTakeLinearTime) {
  std::string glob;
  for (int i = 0; i < 200; ++i)
    glob += "*a";
  const UrlPattern many = pattern(glob + "*b");
  EXPECT_FALSE(many.matches("http://h/" + std::string(100'000, 'a')));
  EXPECT_TRUE(many.matches("http://h/" + std::string(100'000, 'a') + "b"));
}

UrlPatternSet set_of(const std::vector<std::string>& texts) {
  std::vector<UrlPattern> patterns;
  for (const std::string& text : texts)
    patterns.push_back(pattern(text));
  auto set = UrlPatternSet::create(std::move(patterns));
  if (!set) ADD_FAILURE() << set.error().message;
  return set ? *set : UrlPatternSet();
}

TEST(UrlPatternSet, AnEmptyOneMatchesNothing) {
  EXPECT_TRUE(UrlPatternSet().empty());
  EXPECT_EQ(UrlPatternSet().size(), 0u);
  EXPECT_FALSE(UrlPatternSet().first_match("http://h/"));
  EXPECT_FALSE(set_of({}).first_match("http://h/"));
}

TEST(UrlPatternSet, TheFirstThatMatchesIsTold) {
  const UrlPatternSet set = set_of({"*.pdf", "re:/docs/", "*", "example.com/docs/a.pdf"});
  EXPECT_EQ(set.size(), 4u);
  EXPECT_EQ(set[1].text(), "re:/docs/");
  EXPECT_EQ(set.first_match("http://example.com/docs/a.pdf"), 0u);
  EXPECT_EQ(set.first_match("http://example.com/docs/a.html"), 1u);
  EXPECT_EQ(set.first_match("http://example.com/"), 2u);
  EXPECT_FALSE(set_of({"*.pdf", "*.zip"}).first_match("http://example.com/"));
  EXPECT_EQ(set_of({"*.zip"}).first_match("http://example.com/a.zip"), 0u);
}

TEST(UrlPatternSet, AThousandPatternsAnswerAsOneByOne) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::vector<std::string> texts;
  for (int i = 0; i < 1000; ++i) {
    const auto n = random() % 500;
    const auto m = random() % 500;
    const std::vector<std::string> kinds{
        fmt::format("*/a{}/*", n), fmt::format("h.test/{}*", n), fmt::format("*{}*{}", n, m),
        fmt::format("re:/{}[0-9]?/b*{}", n, m), fmt::format("*?{}.pdf", n)};
    texts.push_back(kinds[random() % kinds.size()]);
  }
  const UrlPatternSet set = set_of(texts);
  int found = 0;
  for (int i = 0; i < 300; ++i) {
    std::string href = "http://h.test/";
    for (std::size_t parts = 1 + random() % 4; parts > 0; --parts)
      href += fmt::format("{}{}/", random() % 2 != 0 ? "a" : "", random() % 5000);
    std::optional<std::size_t> expected;
    for (std::size_t n = 0; n < set.size() && !expected; ++n)
      if (set[n].matches(href)) expected = n;
    ASSERT_EQ(set.first_match(href), expected) << href;
    found += expected ? 1 : 0;
  }
  EXPECT_GT(found, 10);
  EXPECT_LT(found, 300);
}

// URLs made of the patterns' own texts, which no automaton of all patterns stands for long: the
// answers stay the same when it is no longer asked.
TEST(UrlPatternSet, UrlsThatLeadAstrayAreAnsweredAllTheSame) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::vector<std::string> texts{"re:[0-9]z$"};  // has no text that a URL must have
  for (int i = 0; i < 300; ++i)
    texts.push_back(i % 3 == 0 ? fmt::format("*/x{}y*q{}", i, i)
                               : fmt::format("*a{}*b{}*C*", i, i));
  const UrlPatternSet set = set_of(texts);
  int found = 0;
  for (int i = 0; i < 60; ++i) {
    std::string href = "http://h.test/";
    while (href.size() < 1500)
      href += fmt::format("a{}b{}/x{}y", random() % 300, random() % 300, random() % 300);
    href += fmt::format("q{}{}", random() % 300, i % 4 == 0 ? "C" : i % 4 == 1 ? "z" : "");
    std::optional<std::size_t> expected;
    for (std::size_t n = 0; n < set.size() && !expected; ++n)
      if (set[n].matches(href)) expected = n;
    ASSERT_EQ(set.first_match(href), expected) << href;
    found += expected ? 1 : 0;
  }
  EXPECT_GT(found, 20);
}

TEST(UrlPatternSet, IsAskedByManyThreads) {
  std::vector<std::string> texts;
  for (int i = 0; i < 100; ++i)
    texts.push_back(fmt::format("*/x{}y*q{}", i, i));
  const UrlPatternSet set = set_of(texts);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&set, t] {
      for (std::size_t i = 0; i < 100; ++i) {
        std::string href = "http://h.test/";
        for (std::size_t n = 0; n < i; ++n)
          href += fmt::format("/x{}y/{}", 100 + n, t);
        EXPECT_EQ(set.first_match(href + fmt::format("/x{}y/q{}", i, i)), i);
        EXPECT_EQ(set.first_match(href), std::nullopt);
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
}

}  // namespace
}  // namespace trawl
