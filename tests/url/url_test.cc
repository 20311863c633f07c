#include "trawl/url.h"

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/repeated.h"

namespace trawl {
namespace {

using test::repeated;
using testing::HasSubstr;

Url parsed(std::string_view input, const Url* base = nullptr) {
  auto url = Url::parse(input, base);
  if (!url) {
    ADD_FAILURE() << url.error().message;
    return *Url::parse("http://failed.invalid/");
  }
  return *std::move(url);
}

// What `input` serialises to, or "unsupported" or "invalid" for the two kinds of error.
std::string href(std::string_view input, const Url* base = nullptr) {
  const auto url = Url::parse(input, base);
  if (url) return std::string(url->href());
  return url.error().code == ErrorCode::kUnsupportedScheme ? "unsupported" : "invalid";
}

std::string hostname(std::string_view host) {
  const auto url = Url::parse("http://" + std::string(host) + "/");
  return url ? std::string(url->hostname()) : "invalid";
}

TEST(Url, AccessorsGiveEachComponent) {
  const Url url = parsed("HTTPS://User:Pass@Example.COM:8080/a/b.html?q=1&r=#top");
  EXPECT_EQ(url.href(), "https://User:Pass@example.com:8080/a/b.html?q=1&r=#top");
  EXPECT_EQ(url.href_without_fragment(), "https://User:Pass@example.com:8080/a/b.html?q=1&r=");
  EXPECT_EQ(url.scheme(), "https");
  EXPECT_EQ(url.username(), "User");
  EXPECT_EQ(url.password(), "Pass");
  EXPECT_EQ(url.hostname(), "example.com");
  EXPECT_EQ(url.host(), "example.com:8080");
  EXPECT_EQ(url.port(), "8080");
  EXPECT_EQ(url.effective_port(), 8080);
  EXPECT_EQ(url.origin(), "https://example.com:8080");
  EXPECT_EQ(url.path(), "/a/b.html");
  EXPECT_EQ(url.query(), "q=1&r=");
  EXPECT_EQ(url.fragment(), "top");
  EXPECT_TRUE(url.has_query());
  EXPECT_TRUE(url.has_fragment());
  EXPECT_FALSE(url.host_is_ip());
}

TEST(Url, AccessorsOfABareUrlAreEmpty) {
  const Url url = parsed("http://h");
  EXPECT_EQ(url.href(), "http://h/");
  EXPECT_EQ(url.href_without_fragment(), "http://h/");
  EXPECT_EQ(url.username(), "");
  EXPECT_EQ(url.password(), "");
  EXPECT_EQ(url.host(), "h");
  EXPECT_EQ(url.port(), "");
  EXPECT_EQ(url.effective_port(), 80);
  EXPECT_EQ(url.origin(), "http://h");
  EXPECT_EQ(url.path(), "/");
  EXPECT_EQ(url.query(), "");
  EXPECT_EQ(url.fragment(), "");
  EXPECT_FALSE(url.has_query());
  EXPECT_FALSE(url.has_fragment());
  EXPECT_EQ(parsed("https://h").effective_port(), 443);
}

TEST(Url, EmptyQueryAndFragmentArePresent) {
  const Url url = parsed("http://h/?#");
  EXPECT_EQ(url.href(), "http://h/?#");
  EXPECT_TRUE(url.has_query());
  EXPECT_TRUE(url.has_fragment());
  EXPECT_EQ(url.query(), "");
  EXPECT_EQ(url.fragment(), "");
  EXPECT_EQ(url.href_without_fragment(), "http://h/?");
  EXPECT_TRUE(parsed("http://h/#?").fragment() == "?" && !parsed("http://h/#?").has_query());
}

TEST(Url, UserinfoKeepsOnlyWhatIsThere) {
  EXPECT_EQ(href("http://:@h"), "http://h/");
  EXPECT_EQ(href("http://@h"), "http://h/");
  EXPECT_EQ(href("http://u:@h"), "http://u@h/");
  EXPECT_EQ(href("http://a@b:c:d@h"), "http://a%40b:c%3Ad@h/");
  const Url password_only = parsed("http://:pw@h");
  EXPECT_EQ(password_only.href(), "http://:pw@h/");
  EXPECT_EQ(password_only.username(), "");
  EXPECT_EQ(password_only.password(), "pw");
  EXPECT_EQ(password_only.origin(), "http://h");
  const Url username_only = parsed("http://u@h:1");
  EXPECT_EQ(username_only.username(), "u");
  EXPECT_EQ(username_only.password(), "");
  EXPECT_EQ(href("http://u;=[|^`{}\"<>@h"), "http://u%3B%3D%5B%7C%5E%60%7B%7D%22%3C%3E@h/");
}

TEST(Url, CopiesAndComparesByHref) {
  const Url a = parsed("http://h/x");
  Url b = a;
  EXPECT_EQ(a, b);
  b = parsed("http://h/y");
  EXPECT_FALSE(a == b);
  EXPECT_EQ(b.path(), "/y");
}

void expect_no_url(const Url& url) {
  EXPECT_EQ(url, Url());
  EXPECT_EQ(url.href(), "");
  EXPECT_EQ(url.href_without_fragment(), "");
  EXPECT_EQ(url.scheme(), "");
  EXPECT_EQ(url.username(), "");
  EXPECT_EQ(url.password(), "");
  EXPECT_EQ(url.hostname(), "");
  EXPECT_EQ(url.host(), "");
  EXPECT_EQ(url.port(), "");
  EXPECT_EQ(url.effective_port(), 80);
  EXPECT_EQ(url.origin(), "");
  EXPECT_EQ(url.path(), "");
  EXPECT_EQ(url.query(), "");
  EXPECT_EQ(url.fragment(), "");
  EXPECT_FALSE(url.has_query() || url.has_fragment() || url.host_is_ip() || url.has_percent());
}

TEST(Url, HasNoComponentsUntilParsed) {
  expect_no_url(Url());
}

TEST(Url, MovedFromIsNoUrl) {
  static_assert(std::is_nothrow_move_constructible_v<Url>);
  static_assert(std::is_nothrow_move_assignable_v<Url>);
  // Short enough for the string's own bytes, and too long.
  for (const std::string_view input :
       {"http://h/%1?#", "https://u:p@example.com:81/a/longer/path/%20?query#fragment"}) {
    const Url original = parsed(input);
    Url a = original;
    Url b = std::move(a);
    expect_no_url(a);  // NOLINT(bugprone-use-after-move): that is the point
    EXPECT_EQ(b, original);
    EXPECT_EQ(b.hostname(), original.hostname());
    EXPECT_EQ(b.query(), original.query());
    EXPECT_EQ(b.has_fragment(), original.has_fragment());

    Url c = parsed("http://other:8080/another/path/that/needs/memory/of/its/own?x#y");
    c = std::move(b);
    expect_no_url(b);  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(c, original);
    EXPECT_EQ(c.host(), original.host());
    EXPECT_TRUE(c.has_percent());

    Url& same = c;
    c = std::move(same);
    EXPECT_EQ(c, original);
    EXPECT_EQ(c.path(), original.path());

    std::swap(a, c);
    expect_no_url(c);
    EXPECT_EQ(a.path(), original.path());

    // As a base it counts as none, and it can be written to again.
    EXPECT_FALSE(Url::parse("relative", &b));
    ASSERT_TRUE(Url::parse_into("x?y", &a, b));
    EXPECT_EQ(b.hostname(), original.hostname());
    EXPECT_EQ(b.query(), "y");
  }
}

TEST(Url, StripsControlsSpacesTabsAndNewlines) {
  EXPECT_EQ(href(" \x01\f http://h/a b \r\n"), "http://h/a%20b");
  EXPECT_EQ(href("ht\ntp:/\t/h\r/a\tb"), "http://h/ab");
}

TEST(Url, SlashesAndBackslashesAreSloppy) {
  for (const auto* input :
       {"http:h/a", "http:/h/a", "http://h/a", "http:////h/a", "http:\\\\h\\a", "http:/\\/h\\a"}) {
    EXPECT_EQ(href(input), "http://h/a") << input;
  }
  const Url base = parsed("http://base/d/f");
  EXPECT_EQ(href("http:g", &base), "http://base/d/g");
  EXPECT_EQ(href("http:/g", &base), "http://base/g");
  EXPECT_EQ(href("http:", &base), "http://base/d/f");
  EXPECT_EQ(href("http:\\\\h", &base), "http://h/");
  EXPECT_EQ(href("https:g", &base), "https://g/");
  EXPECT_EQ(href("\\\\h\\p", &base), "http://h/p");
  EXPECT_EQ(href("\\p", &base), "http://base/p");
}

TEST(Url, PortsAreNumbersUpTo65535AndDropTheDefault) {
  EXPECT_EQ(href("http://h:80"), "http://h/");
  EXPECT_EQ(href("https://h:443"), "https://h/");
  EXPECT_EQ(href("http://h:443"), "http://h:443/");
  EXPECT_EQ(href("http://h:"), "http://h/");
  EXPECT_EQ(href("http://h:00080"), "http://h/");
  EXPECT_EQ(href("http://h:0"), "http://h:0/");
  EXPECT_EQ(href("http://h:65535"), "http://h:65535/");
  for (const auto* port : {"65536", "99999999999999999999", "8a", "-1", " 80", "8:0"}) {
    EXPECT_EQ(href(std::string("http://h:") + port + "/"), "invalid") << port;
  }
}

TEST(Url, Ipv4NumbersComeInAllNotations) {
  for (const auto* host :
       {"192.168.0.1", "192.168.1", "192.11010049", "3232235521", "0xc0.0xA8.0.1", "0300.0250.0.01",
        "0XC0A80001", "192.168.0.1.", "%31%39%32.168.0.1", "\uff11\uff19\uff12.168.0.1"}) {
    EXPECT_EQ(hostname(host), "192.168.0.1") << host;
  }
  EXPECT_EQ(hostname("0x"), "0.0.0.0");
  EXPECT_EQ(hostname("4294967295"), "255.255.255.255");
  for (const auto* host :
       {"256.0.0.1", "1.2.3.4.5", "4294967296", "1.2.3.256", "1.2.65536", "1..2", "09", "a.1",
        "a.0x", "a.0x1.", "0x100000000", "1.2.3.08", "99999999999999999999999999999999"}) {
    EXPECT_EQ(hostname(host), "invalid") << host;
  }
  EXPECT_EQ(hostname("1.2.3.a"), "1.2.3.a");
  EXPECT_EQ(hostname("1.2.3.4.."), "1.2.3.4..");
  EXPECT_TRUE(parsed("http://1.2.3.4").host_is_ip());
  EXPECT_FALSE(parsed("http://4.3.2.a1").host_is_ip());
}

TEST(Url, Ipv6IsCompressed) {
  EXPECT_EQ(hostname("[::]"), "[::]");
  EXPECT_EQ(hostname("[0:0:0:0:0:0:0:1]"), "[::1]");
  EXPECT_EQ(hostname("[2001:DB8:0:0:1:0:0:1]"), "[2001:db8::1:0:0:1]");
  EXPECT_EQ(hostname("[1:0:2:0:0:3:0:0]"), "[1:0:2::3:0:0]");
  EXPECT_EQ(hostname("[1:2:3:4:5:6:7::]"), "[1:2:3:4:5:6:7:0]");
  EXPECT_EQ(hostname("[1::]"), "[1::]");
  EXPECT_EQ(hostname("[1:0:2:3:4:5:6:7]"), "[1:0:2:3:4:5:6:7]");
  EXPECT_EQ(hostname("[::ffff:192.0.2.128]"), "[::ffff:c000:280]");
  EXPECT_EQ(hostname("[1:2:3:4:5:6:1.2.3.4]"), "[1:2:3:4:5:6:102:304]");
  EXPECT_EQ(hostname("[::1:2:3:4:5:1.2.3.4]"), "[0:1:2:3:4:5:102:304]");
  const Url url = parsed("http://[::1]:8080/");
  EXPECT_EQ(url.host(), "[::1]:8080");
  EXPECT_TRUE(url.host_is_ip());
  for (const auto* host : {"[",
                           "[]",
                           "[:]",
                           "[1]",
                           "[:1::]",
                           "[1:]",
                           "[1:::2]",
                           "[::1::2]",
                           "[1:2:3:4:5:6:7:8:9]",
                           "[1:2:3:4:5:6:7::8]",
                           "[::1:2:3:4:5:6:7:8]",
                           "[::1:2:3:4:5:6:1.2.3.4]",
                           "[12345::]",
                           "[::g]",
                           "[::1",
                           "::1]",
                           "[::1]a",
                           "[::1.2.3]",
                           "[::1.2.3.256]",
                           "[::01.2.3.4]",
                           "[::1.2.3.4.5]",
                           "[::1.2.3.4:5]",
                           "[::1.2..4]",
                           "[::.1.2.3]",
                           "[::1%25eth0]",
                           "[%3A%3A1]"}) {
    EXPECT_EQ(hostname(host), "invalid") << host;
  }
}

TEST(Url, HostsAreDecodedLowercasedAndChecked) {
  EXPECT_EQ(hostname("EX%41mple.%43om"), "example.com");
  EXPECT_EQ(hostname("a_b!$&'()*+,;=~.h"), "a_b!$&'()*+,;=~.h");
  EXPECT_EQ(hostname("a..b."), "a..b.");
  for (const auto* host :
       {"a b",   "a%20b", "a%00b", "a%0Ab", "a%2Fb", "a%23", "a%3Fb", "a%40b",  "a%5Cb", "a%5B",
        "a%25b", "a%b",   "a<b",   "a>b",   "a^b",   "a|b",  "a%7F",  "a%3A80", "a]",    "a[b"}) {
    EXPECT_EQ(hostname(host), "invalid") << host;
  }
  EXPECT_EQ(hostname(std::string_view("a\0b", 3)), "invalid");
}

TEST(Url, InternationalHostsBecomeALabels) {
  EXPECT_EQ(hostname("B\u00FCcher.de"), "xn--bcher-kva.de");
  EXPECT_EQ(hostname("b%C3%BCcher.de"), "xn--bcher-kva.de");
  EXPECT_EQ(hostname("fa\u00DF.de"), "xn--fa-hia.de");
  EXPECT_EQ(hostname("\u4F60\u597D\u3002cn"), "xn--6qq79v.cn");
  EXPECT_EQ(hostname("\uFF47o.com"), "go.com");
  EXPECT_EQ(hostname("\u00FC.XN--ZCA"), "xn--tda.xn--zca");
  EXPECT_EQ(hostname("\u00FC..AB--C.-x"), "xn--tda..ab--c.-x");
  EXPECT_EQ(hostname("a\u00AD.com"), "a.com");
  EXPECT_EQ(hostname("\u00AD"), "invalid") << "nothing is left of it";
  EXPECT_EQ(hostname("\uFFFD.com"), "invalid");
  EXPECT_EQ(hostname("\xFF.com"), "invalid");
  EXPECT_EQ(hostname("%C3.com"), "invalid");
  EXPECT_EQ(hostname("\u00FC%00.com"), "invalid");
  EXPECT_EQ(hostname("\u2100.com"), "invalid") << "maps to a/c";
}

TEST(Url, SymbolsThatBrowsersAllowInHostsAreAllowed) {
  EXPECT_EQ(hostname("\U0001F4A9.la"), "xn--ls8h.la");
  EXPECT_EQ(hostname("i\u2764\uFE0F.ws"), "xn--i-7iq.ws");
  EXPECT_EQ(hostname("a\u00B7b.com"), "xn--ab-0ea.com");
  EXPECT_EQ(hostname("\u00FC.xn--ls8h"), "xn--tda.xn--ls8h");
  // What makes this work must not let these through.
  EXPECT_EQ(hostname("\u2764\u00DF.de"), "xn--zca538q.de") << "\u00DF is kept, as everywhere";
  EXPECT_EQ(hostname("\u2764\u200D\u2764.de"), "invalid");
  EXPECT_EQ(hostname("\u0661\u2764.de"), "invalid");
}

TEST(Url, ALabelsAreCheckedBesideNonAsciiLabelsOnly) {
  EXPECT_EQ(hostname("XN--a.com"), "xn--a.com");
  for (const auto* label :
       {"xn--", "xn--a", "xn--a-", "xn--6a", "xn--zn7c", "xn--8i7caa", "xn--te\u0161la"}) {
    EXPECT_EQ(hostname(std::string("\u00FC.") + label), "invalid") << label;
  }
}

TEST(Url, ComponentsAreEscapedBySetsOfTheirOwn) {
  const std::string all = " \"<>`{}^|'[]~\x7F\u00E9";
  EXPECT_EQ(parsed("http://h/" + all + "!").path(), "/%20%22%3C%3E%60%7B%7D%5E|'[]~%7F%C3%A9!");
  EXPECT_EQ(parsed("http://h/?" + all + "!").query(), "%20%22%3C%3E`{}^|%27[]~%7F%C3%A9!");
  EXPECT_EQ(parsed("http://h/#" + all + "!#").fragment(), "%20%22%3C%3E%60{}^|'[]~%7F%C3%A9!#");
  EXPECT_EQ(href("http://h/%zz%4%41%c3?%#%"), "http://h/%zz%4%41%c3?%#%");
  EXPECT_EQ(parsed("http://h/a?\\/?").query(), "\\/?");
}

TEST(Url, InvalidUtf8BecomesReplacementCharacters) {
  const auto path = [](std::string_view bytes) {
    return std::string(parsed("http://h/" + std::string(bytes) + "!").path().substr(1));
  };
  const std::string replaced = "%EF%BF%BD";
  EXPECT_EQ(path("\x80"), replaced + "!");
  EXPECT_EQ(path("\xC3"), replaced + "!");
  EXPECT_EQ(path("\xC0\xAF"), replaced + replaced + "!") << "overlong";
  EXPECT_EQ(path("\xED\xA0\x80"), replaced + replaced + replaced + "!") << "surrogate";
  EXPECT_EQ(path("\xE2\x82"), replaced + "!") << "cut short: one for the whole";
  EXPECT_EQ(path("\xF0\x9F\x98"), replaced + "!");
  EXPECT_EQ(path("\xF4\x90\x80\x80"), repeated(replaced, 4) + "!") << "above U+10FFFF";
  EXPECT_EQ(path("\xF5"), replaced + "!");
  EXPECT_EQ(path("\xF0\x9F\x98\x80"), "%F0%9F%98%80!");
  EXPECT_EQ(path("\xEF\xBF\xBD"), replaced + "!");
  EXPECT_EQ(parsed("http://h/?\xE2").query(), replaced);
}

TEST(Url, DotSegmentsAreResolved) {
  EXPECT_EQ(href("http://h/a/./b/../c"), "http://h/a/c");
  EXPECT_EQ(href("http://h/../../a/.."), "http://h/");
  EXPECT_EQ(href("http://h/a/%2e/%2E%2e/.%2e/b/%2E."), "http://h/");
  EXPECT_EQ(href("http://h/a/b/."), "http://h/a/b/");
  EXPECT_EQ(href("http://h/a//../b"), "http://h/a/b");
  EXPECT_EQ(href("http://h/.../.a/..b/%2e%2e%2e"), "http://h/.../.a/..b/%2e%2e%2e");
  EXPECT_EQ(href("http://h/a\\..\\b"), "http://h/b");
  EXPECT_EQ(href("http://h/a/..?../b#../c"), "http://h/?../b#../c");
}

TEST(Url, ResolvesTheReferencesOfRfc3986) {
  const Url base = parsed("http://a/b/c/d;p?q");
  const std::vector<std::pair<const char*, const char*>> table = {
      // Section 5.4.1, normal examples.
      {"g:h", "unsupported"},
      {"g", "http://a/b/c/g"},
      {"./g", "http://a/b/c/g"},
      {"g/", "http://a/b/c/g/"},
      {"/g", "http://a/g"},
      {"//g", "http://g/"},
      {"?y", "http://a/b/c/d;p?y"},
      {"g?y", "http://a/b/c/g?y"},
      {"#s", "http://a/b/c/d;p?q#s"},
      {"g#s", "http://a/b/c/g#s"},
      {"g?y#s", "http://a/b/c/g?y#s"},
      {";x", "http://a/b/c/;x"},
      {"g;x", "http://a/b/c/g;x"},
      {"g;x?y#s", "http://a/b/c/g;x?y#s"},
      {"", "http://a/b/c/d;p?q"},
      {".", "http://a/b/c/"},
      {"./", "http://a/b/c/"},
      {"..", "http://a/b/"},
      {"../", "http://a/b/"},
      {"../g", "http://a/b/g"},
      {"../..", "http://a/"},
      {"../../", "http://a/"},
      {"../../g", "http://a/g"},
      // Section 5.4.2, abnormal examples.
      {"../../../g", "http://a/g"},
      {"../../../../g", "http://a/g"},
      {"/./g", "http://a/g"},
      {"/../g", "http://a/g"},
      {"g.", "http://a/b/c/g."},
      {".g", "http://a/b/c/.g"},
      {"g..", "http://a/b/c/g.."},
      {"..g", "http://a/b/c/..g"},
      {"./../g", "http://a/b/g"},
      {"./g/.", "http://a/b/c/g/"},
      {"g/./h", "http://a/b/c/g/h"},
      {"g/../h", "http://a/b/c/h"},
      {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
      {"g;x=1/../y", "http://a/b/c/y"},
      {"g?y/./x", "http://a/b/c/g?y/./x"},
      {"g?y/../x", "http://a/b/c/g?y/../x"},
      {"g#s/./x", "http://a/b/c/g#s/./x"},
      {"g#s/../x", "http://a/b/c/g#s/../x"},
      {"http:g", "http://a/b/c/g"},  // as parsers of old do
  };
  for (const auto& [reference, expected] : table)
    EXPECT_EQ(href(reference, &base), expected);
}

TEST(Url, ReferencesInheritWhatTheyLeaveOut) {
  const Url base = parsed("https://u:p@h:81/d/f?q#frag");
  const std::string authority = "https://u:p@h:81";
  EXPECT_EQ(href("", &base), authority + "/d/f?q");
  EXPECT_EQ(href("#", &base), authority + "/d/f?q#");
  EXPECT_EQ(href("?", &base), authority + "/d/f?");
  EXPECT_EQ(href("g", &base), authority + "/d/g");
  EXPECT_EQ(href("//o/x", &base), "https://o/x");
  EXPECT_EQ(href("http://o", &base), "http://o/");
  EXPECT_EQ(href("g:80", &base), "unsupported");
  EXPECT_EQ(href("1:80", &base), authority + "/d/1:80");
  const Url inherited = parsed("#x", &base);
  EXPECT_EQ(inherited.username(), "u");
  EXPECT_EQ(inherited.password(), "p");
  EXPECT_EQ(inherited.port(), "81");
  EXPECT_EQ(inherited.query(), "q");
  EXPECT_EQ(inherited.fragment(), "x");
}

TEST(Url, ErrorsSayWhichKindAndWhy) {
  for (const auto* input : {"mailto:a@b", "javascript:alert(1)", "data:,x", "ftp://h/", "file:///x",
                            "a.b+c-d:x", " \tHTTPX://h"}) {
    EXPECT_EQ(href(input), "unsupported") << input;
  }
  for (const auto* input :
       {"",        " ",           "/path",    "//host",    "host",     "?q",         "#f",
        "http:",   "http://",     "http:///", "http://?",  "http://#", "http://:80", "http://u@",
        "https:@", "http://u@/p", "://h",     "1http://h", "http//h",  "\u00E9:x"}) {
    EXPECT_EQ(href(input), "invalid") << input;
  }
  const auto message = [](std::string_view input) { return Url::parse(input).error().message; };
  EXPECT_THAT(message("http://h:x"), HasSubstr("\"http://h:x\": its port is not a number"));
  EXPECT_THAT(message("/p"), HasSubstr("no scheme"));
  EXPECT_THAT(message("ftp://h"), HasSubstr("neither http nor https"));
  EXPECT_THAT(message("http://\x1B[2J\"\xFF/"), HasSubstr("\\x1b[2J\\\"\\xff")) << "kept printable";
  EXPECT_LT(message(std::string(1'000'000, 'x')).size(), 400u) << "kept short";
}

// These end in a moment if parsing takes linear time, and run into the test's timeout if it takes
// quadratic time.
TEST(Url, HostileInputTakesLinearTime) {
  constexpr std::size_t kMany = 1'000'000;
  EXPECT_EQ(hostname(repeated("a", kMany)).size(), kMany);
  EXPECT_EQ(hostname(repeated("a.", kMany / 2)).size(), kMany);
  EXPECT_EQ(hostname(repeated("%61", kMany)).size(), kMany);
  EXPECT_EQ(hostname(repeated("xn--", kMany / 4)).size(), kMany);
  for (const auto* piece : {"1.", "1", "0x1.", "[", "]", ":", "[::", "\u00FC", "\u00FC.", "\xFF",
                            "%C3%BC", "\u00AD", "a\u0301\u0323", "\u2764"}) {
    EXPECT_TRUE(hostname(repeated(piece, kMany / 4)) == "invalid") << piece;
  }
  EXPECT_EQ(hostname("[" + repeated("0:", kMany) + "]"), "invalid");
  EXPECT_EQ(hostname("[::" + repeated("1.", kMany) + "]"), "invalid");

  constexpr std::size_t kSegments = 100'000;
  EXPECT_EQ(href("http://h/" + repeated("../", kSegments)), "http://h/");
  EXPECT_EQ(href("http://h/" + repeated("a/", kSegments) + repeated("../", kSegments)),
            "http://h/");
  EXPECT_EQ(href("http://h/" + repeated("a/../", kSegments)), "http://h/");
  EXPECT_EQ(href("http://h/" + repeated("a", kMany) + repeated("/%2e%2e/a", kSegments)),
            "http://h/a");
  EXPECT_EQ(href("http://h/" + repeated("/", kMany)).size(), kMany + 9);
  EXPECT_EQ(href("http:" + repeated("/", kMany) + "h"), "http://h/");
  EXPECT_EQ(href(repeated(" ", kMany) + "http://h" + repeated("\t", kMany)), "http://h/");
  EXPECT_EQ(href("http://h:" + repeated("0", kMany) + "1"), "http://h:1/");
  EXPECT_EQ(parsed("http://" + repeated("@", kMany) + "h").username().size(), 3 * (kMany - 1));
  EXPECT_EQ(parsed("http://" + repeated(":", kMany) + "@h").password().size(), 3 * (kMany - 1));
  EXPECT_EQ(parsed("http://h/?" + repeated("\xFF", kMany)).query().size(), 9 * kMany);
  EXPECT_EQ(href(repeated("a", kMany)), "invalid");
  EXPECT_EQ(href(repeated("a", kMany) + ":"), "unsupported");
}

}  // namespace
}  // namespace trawl
