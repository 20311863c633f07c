// What sites and attackers put where a URL should be.
#include <algorithm>
#include <ctime>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trawl/url.h"

#include "tests/support/repeated.h"

namespace trawl {
namespace {

using namespace std::string_literals;
using test::repeated;
using testing::HasSubstr;

std::string href_or_error(std::string_view input, const Url* base = nullptr) {
  const auto url = Url::parse(input, base);
  return url ? std::string(url->href()) : url.error().message;
}

// Every component lies in href, in order, and href is made of nothing but them and their marks.
void expect_accessors_to_add_up(const Url& url) {
  std::string sum(url.scheme());
  sum += "://";
  sum += url.username();
  if (!url.password().empty()) sum.append(":").append(url.password());
  if (!url.username().empty() || !url.password().empty()) sum += "@";
  EXPECT_EQ(url.origin(), std::string(url.scheme()) + "://" + std::string(url.host()));
  sum += url.hostname();
  if (!url.port().empty()) sum.append(":").append(url.port());
  EXPECT_TRUE(sum.ends_with(url.host()));
  sum += url.path();
  if (url.has_query()) sum.append("?").append(url.query());
  EXPECT_TRUE(url.href_without_fragment() == sum);
  if (url.has_fragment()) sum.append("#").append(url.fragment());
  EXPECT_TRUE(url.href() == sum);
  EXPECT_EQ(url.has_percent(), url.href_without_fragment().find('%') != std::string_view::npos);
  const auto again = Url::parse(url.href());
  ASSERT_TRUE(again);
  EXPECT_TRUE(*again == url);
}

TEST(UrlBadInput, ErrorsNameWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"http://[::1%25eth0]/", "is not an IPv6 address"},
      {"http://[::1%eth0]/", "is not an IPv6 address"},
      {"http://[::1/", "lacks its closing bracket"},
      {"http://h:65536/", "port is above 65535"},
      {"http://h:" + repeated("9", 100'000) + "/", "port is above 65535"},
      {"http://h:-1/", "port is not a number"},
      {"http://h:8\0/"s, "port is not a number"},
      {"http://a\0b/"s, "a forbidden character"},
      {"http://a\x01/", "a forbidden character"},
      {"http://a b/", "a forbidden character"},
      {"http://a%00b/", "a forbidden character"},
      {"http://a%2Fb/", "a forbidden character"},
      {"http://1.2.3.4.5/", "is not an IPv4 address"},
      {"http://\xFF/", "not a valid internationalised domain name"},
      {"http://a\xED\xA0\x80/", "not a valid internationalised domain name"},
      {"http://u@/", "no host name"},
      {"http://" + repeated("\u00FC", 1'000'000) + "/", "too long"},
      {"relative", "no scheme"},
  };
  for (const auto& [input, what] : wrong) {
    const auto url = Url::parse(input);
    ASSERT_FALSE(url) << url->href().substr(0, 100);
    EXPECT_EQ(url.error().code, ErrorCode::kInvalidUrl);
    EXPECT_THAT(url.error().message, HasSubstr(what));
    EXPECT_LT(url.error().message.size(), 1000u) << "kept short";
  }
}

TEST(UrlBadInput, OtherSchemesAreAnErrorOfTheirOwn) {
  const Url base = *Url::parse("http://h/a");
  for (const auto* input :
       {"mailto:a@b", "javascript:void(0)", "data:text/html,<p>", "ftp://h/", "file:///etc/passwd",
        "ws://h", "about:blank", "urn:x", "java\nscript:x", "\x01 mailto:x"}) {
    const auto alone = Url::parse(input);
    const auto resolved = Url::parse(input, &base);
    ASSERT_FALSE(alone) << input;
    ASSERT_FALSE(resolved) << input;
    EXPECT_EQ(alone.error().code, ErrorCode::kUnsupportedScheme) << input;
    EXPECT_EQ(resolved.error().code, ErrorCode::kUnsupportedScheme) << input;
    EXPECT_THAT(alone.error().message, HasSubstr("neither http nor https"));
  }
}

TEST(UrlBadInput, ControlBytesAreEscapedBehindTheHost) {
  EXPECT_EQ(href_or_error("http://u\0@h/a\0b?\0#\0c"s), "http://u%00@h/a%00b?%00#%00c");
  EXPECT_EQ(href_or_error("http://h/\x01\x1F\x7F"), "http://h/%01%1F%7F");
  EXPECT_EQ(href_or_error("\0\x1F http://h/\x1F\0 "s), "http://h/")
      << "at the ends they are dropped";
  const Url base = *Url::parse("http://h/a");
  EXPECT_EQ(href_or_error("x\0y"s, &base), "http://h/x%00y");
}

TEST(UrlBadInput, InvalidUtf8BecomesReplacementCharacters) {
  EXPECT_EQ(href_or_error("http://h/\xFF\xC3?\xED\xA0\x80#\xF0\x9F"),
            "http://h/%EF%BF%BD%EF%BF%BD?%EF%BF%BD%EF%BF%BD%EF%BF%BD#%EF%BF%BD");
  EXPECT_EQ(href_or_error("http://h/\xC0\xAF..\xC0\xAF"),
            "http://h/%EF%BF%BD%EF%BF%BD..%EF%BF%BD%EF%BF%BD")
      << "an overlong slash is not a slash";
}

TEST(UrlBadInput, InvisibleCharactersVanishFromHostsOrAreRefused) {
  for (const auto* invisible : {"\u200B", "\u00AD", "\u2060", "\uFEFF"})
    EXPECT_EQ(href_or_error("http://a"s + invisible + "b.com/"), "http://ab.com/");
  // A joiner without a reason, and marks that would show the name in another order.
  for (const auto* refused : {"\u200D", "\u200E", "\u202E", "\u2066", "\u3164"}) {
    const auto url = Url::parse("http://a"s + refused + "b.com/");
    EXPECT_FALSE(url) << url->href();
  }
  EXPECT_THAT(href_or_error("http://\u200B/"), HasSubstr("the host name is empty"));
  EXPECT_EQ(href_or_error("http://h/a\u202Eb\u200B?\u2066#\u200F"),
            "http://h/a%E2%80%AEb%E2%80%8B?%E2%81%A6#%E2%80%8F");
}

// What IDNA2008 forbids and browsers take all the same; the answers are those of browsers.
TEST(UrlBadInput, HostsThatBrowsersTakeAreTaken) {
  const std::vector<std::pair<std::string, std::string>> hosts = {
      {"stra\u00DFe\U0001F4A9.example", "xn--strae-oqa73760g.example"},
      {"\u03C2\U0001F4A9", "xn--3xa8255w"},
      {"\u0915\u094D\u200D\u0937\U0001F4A9", "xn--11b2ezcw70k0r94c"},
      {"&\u094D\u200D!{", "xn--&!{-smh4320a"},
      {"a!\u00E9.com", "xn--a!-cja.com"},
      {"l'\u00E9t\u00E9.fr", "xn--l't-cmab.fr"},
      {"\u00E9+b.com", "xn--+b-9ia.com"},
      {"\u2474\u00E9", "xn--(1)-dma"},
      {"xn--a!-cja.\u00E9", "xn--a!-cja.xn--9ca"},
      {"\u00E9=\u0338", "xn--9ca842o"},       // one character, as if it had been
      {"\u00E9\uFF1D\u0338", "xn--9ca842o"},  // written so: U+2260
      {"\u00E9-\u0301", "xn----9fa32n"},
      {"-\uFF57.com", "-w.com"},
      {"-\u24E6.com", "-w.com"},
      {"ab--\u00E9", "xn--ab---epa"},
      {"\u00E9-", "xn----9fa"},
  };
  for (const auto& [host, expected] : hosts)
    EXPECT_EQ(href_or_error("http://" + host + "/"), "http://" + expected + "/");
}

TEST(UrlBadInput, HostsThatBrowsersRefuseAreRefused) {
  for (const std::string host : {
           "a\u200D\U0001F4A9",           // a joiner behind nothing that it could join
           "\U0001F4A9\u200D\U0001F4A9",  //
           "\u0301-\u00E9",               // a mark on nothing
           "\uFF58n--\u00E9",             // would be an A-label
           "xn--\u24D0",                  //
           "\u00E9^a",
           "\u00E9\uFF05a",  // a '%'
           "\u00A8\U0001F4A9",
           "a\u2024b\U0001F4A9",
       }) {
    const auto url = Url::parse("http://" + host + "/");
    EXPECT_FALSE(url) << host << " is " << url->href();
  }
}

TEST(UrlBadInput, LabelsOfBothDirectionsAreRefused) {
  EXPECT_EQ(href_or_error("http://\u05D0\u05D1.com/"), "http://xn--4dbc.com/");
  EXPECT_FALSE(Url::parse("http://\u05D0a.com/"));
  EXPECT_FALSE(Url::parse("http://a\u05D0.com/"));
}

TEST(UrlBadInput, AccessorsAddUpWhateverTheSizes) {
  const std::string host = repeated("a", 1'000'000);
  const std::string big = repeated("x%41", 250'000);
  for (const auto& input : {
           "http://" + host + "/",
           "http://" + host + ":8080",
           "http://" + repeated("a.", 500'000) + "com?q",
           "https://" + big + ":" + big + "@h:1/" + big + "?" + big + "#" + big,
           "http://h/" + repeated("../", 100'000) + "a",
           "http://h" + repeated("/a/..", 100'000) + "?#",
           "http://h/" + repeated("/", 100'000) + "#",
           "http://h?" + repeated("\xFF", 100'000),
           "http://:" + repeated("\"", 100'000) + "@h",
           "http://[::" + repeated("0", 3) + "1]:65535" + repeated("\\", 100'000),
       }) {
    const auto url = Url::parse(input);
    ASSERT_TRUE(url) << url.error().message;
    expect_accessors_to_add_up(*url);
  }
  EXPECT_EQ(Url::parse("http://" + host)->hostname().size(), host.size());
}

TEST(UrlBadInput, HundredThousandDotSegmentsLeadToTheRoot) {
  const std::string many = repeated("../", 100'000);
  const auto deep = Url::parse("http://h/" + repeated("d/", 100'000) + "page");
  ASSERT_TRUE(deep);
  EXPECT_EQ(href_or_error(many, &*deep), "http://h/");
  EXPECT_EQ(href_or_error(many + "x?y#z", &*deep), "http://h/x?y#z");
  EXPECT_EQ(href_or_error(repeated("../", 99'999) + "x", &*deep), "http://h/d/x");
  EXPECT_EQ(href_or_error(repeated("./", 100'000) + "x", &*deep).size(), deep->href().size() - 3);
  EXPECT_EQ(href_or_error("x" + repeated("/%2e%2E", 100'001), &*deep), "http://h/");
  EXPECT_EQ(href_or_error("/" + many + "a/..", &*deep), "http://h/");
}

double cpu_seconds(const std::function<void()>& work) {
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < 4; ++i) {
    const std::clock_t start = std::clock();
    work();
    best = std::min(best, static_cast<double>(std::clock() - start));
  }
  return best / CLOCKS_PER_SEC;
}

// 16 times the input takes 16 times as long, or less; 256 times as long where time is quadratic.
TEST(UrlBadInput, TimeIsLinear) {
  constexpr std::size_t kSmall = 10'000;
  constexpr std::size_t kTimes = 16;
  const auto time_of = [](std::string_view front, std::string_view piece, std::size_t times) {
    const std::string input = std::string(front) + repeated(piece, times);
    return cpu_seconds([&] {
      for (int i = 0; i < 3; ++i) {
        const auto url = Url::parse(input);
        EXPECT_TRUE(!url || !url->href().empty());
      }
    });
  };
  for (const auto& [front, piece] : std::vector<std::pair<std::string, std::string>>{
           {"http://", "a"},
           {"http://", "a."},
           {"http://", "1."},
           {"http://", "%61"},
           {"http://", "@"},
           {"http://", ":"},
           {"http://[", "0:"},
           {"http://h:", "0"},
           {"http://h/", "a"},
           {"http://h/", "a/"},
           {"http://h/", "../"},
           {"http://h/", "a/../"},
           {"http://h/", "%2e%2e/"},
           {"http://h/", ".a/"},
           {"http://h/", "/%"},
           {"http://h/?", "'"},
           {"http://h/#", "\xFF"},
           {"\t", "\n"},
       }) {
    SCOPED_TRACE(front + piece);
    // A clock's tick or two more do not count.
    const double small = time_of(front, piece, kSmall) + 1e-5;
    EXPECT_LT(time_of(front, piece, kSmall * kTimes), small * kTimes * 6);
  }
}

}  // namespace
}  // namespace trawl
