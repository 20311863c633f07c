#include "crawler/warc/surt.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/random_text.h"

namespace trawl {
namespace {

std::string key(const std::string& text) {
  const auto url = Url::parse(text);
  EXPECT_TRUE(url) << text;
  return url ? surt(*url) : "";
}

// Expected values follow the tests of the Internet Archive's surt package where it has them.
TEST(Surt, HostsAreTurnedRound) {
  EXPECT_EQ(key("http://www.archive.org/"), "org,archive)/");
  EXPECT_EQ(key("http://archive.org/"), "org,archive)/");
  EXPECT_EQ(key("HTTPS://WWW.Example.CO.UK"), "uk,co,example)/");
  EXPECT_EQ(key("http://a.b.c.example.com/x"), "com,example,c,b,a)/x");
  EXPECT_EQ(key("http://localhost/"), "localhost)/");
}

TEST(Surt, WwwWithDigitsIsLeftOutOnce) {
  EXPECT_EQ(key("http://www12.foo.com/"), "com,foo)/");
  EXPECT_EQ(key("http://www2foo.com/"), "com,www2foo)/");
  EXPECT_EQ(key("http://www2.www2foo.com/"), "com,www2foo)/");
  EXPECT_EQ(key("http://www.www.foo.com/"), "com,foo,www)/");
  EXPECT_EQ(key("http://www.com/"), "com)/");
}

TEST(Surt, AddressesAndDots) {
  EXPECT_EQ(key("http://192.168.1.254/info/"), "254,1,168,192)/info");
  EXPECT_EQ(key("http://[::1]:8080/"), "::1:8080)/");
  EXPECT_EQ(key("http://example.com./"), "com,example)/");
}

TEST(Surt, PortsStayUnlessDefault) {
  EXPECT_EQ(key("http://archive.org:80/"), "org,archive)/");
  EXPECT_EQ(key("https://www.archive.org:80/"), "org,archive:80)/");
  EXPECT_EQ(key("http://www.archive.org:443/"), "org,archive:443)/");
  EXPECT_EQ(key("https://www.archive.org:443/"), "org,archive)/");
}

TEST(Surt, UserinfoAndFragmentAreLeftOut) {
  EXPECT_EQ(key("http://user:secret@example.com/a#b"), "com,example)/a");
}

TEST(Surt, Paths) {
  EXPECT_EQ(key("http://archive.org/goo/"), "org,archive)/goo");
  EXPECT_EQ(key("http://archive.org/Goo/BAR"), "org,archive)/goo/bar");
  EXPECT_EQ(key("http://archive.org//a///b//"), "org,archive)/a/b");
  EXPECT_EQ(key("http://archive.org/a/%252e%252e/b"), "org,archive)/b");
  EXPECT_EQ(key("http://archive.org/%7Euser"), "org,archive)/~user");
  EXPECT_EQ(key("http://host/%25%32%35"), "host)/%25");
  EXPECT_EQ(key("http://host/%2525252525252525"), "host)/%25");
  EXPECT_EQ(key("http://host/asdf%25%32%35asd"), "host)/asdf%25asd");
  EXPECT_EQ(key("http://host.com/ab%23cd"), "com,host)/ab%23cd");
  EXPECT_EQ(key("http://example.com/a b"), "com,example)/a%20b");
  EXPECT_EQ(key("http://example.com/Wroc\xc5\x82"
                "aw"),
            "com,example)/wroc%c5%82aw");
}

TEST(Surt, QueriesAreSorted) {
  EXPECT_EQ(key("http://archive.org/goo/?"), "org,archive)/goo");
  EXPECT_EQ(key("http://archive.org/goo/?b&a"), "org,archive)/goo?a&b");
  EXPECT_EQ(key("http://archive.org/goo/?a=2&b&a=1"), "org,archive)/goo?a=1&a=2&b");
  EXPECT_EQ(key("http://archive.org/?a=1&"), "org,archive)/?&a=1");
  EXPECT_EQ(key("http://archive.org/?b=b&a=b&b=a&a=a"), "org,archive)/?a=a&a=b&b=a&b=b");
  EXPECT_EQ(key("http://example.com/app?item=Wroc%C5%82aw"), "com,example)/app?item=wroc%c5%82aw");
  EXPECT_EQ(key("http://visit.webhosting.yahoo.com/visit.gif?&r=http%3A//web.archive.org/web/"
                "20090517140029/http%3A//anthonystewarthead.electric-chi.com/&b=Netscape%205.0%20"
                "%28Windows%3B%20en-US%29&s=1366x768&o=Win32&c=24&j=true&v=1.2"),
            "com,yahoo,webhosting,visit)/visit.gif?&b=netscape%205.0%20(windows;%20en-us)&c=24&j="
            "true&o=win32&r=http://web.archive.org/web/20090517140029/http://anthonystewarthead."
            "electric-chi.com/&s=1366x768&v=1.2");
}

TEST(Surt, SessionIdsInQueries) {
  const std::string id = "0123456789abcdefghijklemopqrstuv";
  const std::string base = "http://h/?", path = "h)/";
  EXPECT_EQ(key("http://archive.org/index.php?PHPSESSID=" + id + "&action=profile;u=4221"),
            "org,archive)/index.php?action=profile;u=4221");
  EXPECT_EQ(key(base + "jsessionid=" + id), path);
  EXPECT_EQ(key(base + "jsessionid=" + id + "0"), path + "?jsessionid=" + id + "0");
  EXPECT_EQ(key(base + "one=two&jsessionid=" + id + "&x=y"), path + "?one=two&x=y");
  EXPECT_EQ(key(base + "one=two&jsessionid=" + id), path + "?&one=two");
  EXPECT_EQ(key(base + "aspsessionidABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX&x=y"), path + "?x=y");
  EXPECT_EQ(key(base + "sid=9682993c8daa2c5497996114facdc805&jsessionid=" + id), path);
  EXPECT_EQ(key(base + "CFID=16603925&CFTOKEN=2AE13EEE-3048-85B0-56CEDAAB0ACA44B8"), path);
  EXPECT_EQ(key(base + "CFID=14475712&CFTOKEN=2D89F5AF-3048-2957&r=468&m=f"), path + "?m=f&r=468");
}

TEST(Surt, SessionIdsInPaths) {
  EXPECT_EQ(key("http://h/(S(4hqa0555fwsecu455xqckv45))/mileg.aspx"), "h)/mileg.aspx");
  EXPECT_EQ(key("http://h/(4hqa0555fwsecu455xqckv45)/mileg.aspx"), "h)/mileg.aspx");
  EXPECT_EQ(key("http://h/(a(4hqa0555fwsecu455xqckv45)S(4hqa0555fwsecu455xqckv45)f("
                "4hqa0555fwsecu455xqckv45))/mileg.aspx?page=x"),
            "h)/mileg.aspx?page=x");
  EXPECT_EQ(key("http://h/(S(4hqa0555fwsecu455xqckv45))/mileg.html"),
            "h)/(s(4hqa0555fwsecu455xqckv45))/mileg.html");
  EXPECT_EQ(key("http://h/photos/36050182@N05/"), "h)/photos/36050182@n05");
}

// Keys are cut out of lines at their first space, and sorted by bytes.
TEST(Surt, HoldsVisibleAsciiOnlyWhateverTheUrl) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string pieces[] = {"%", "25", "20",   "0a",  "/",    "..",   "&",  "=",
                                "a", "Z",  "?",    "%7F", "\x80", " ",    "\n", "\t",
                                "(", ")",  "sid=", "\"",  "\\",   ".aspx"};
  for (int i = 0; i < 20'000; ++i) {
    const auto url = Url::parse("http://h/" + test::random_text(random, pieces, random() % 40));
    if (!url) continue;
    const std::string text = surt(*url);
    for (const char c : text)
      ASSERT_TRUE(c > ' ' && c < 0x7f) << url->href() << " -> " << text;
  }
}

// Escapes of escapes of escapes are one pass.
TEST(Surt, DeepEscapesTakeLinearTime) {
  std::string path = "http://h/%";
  for (int i = 0; i < 2'000'000; ++i)
    path += "25";
  EXPECT_EQ(key(path), "h)/%25");
}

}  // namespace
}  // namespace trawl
