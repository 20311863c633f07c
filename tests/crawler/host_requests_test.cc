#include "crawler/config/host_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trawl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

Url url(std::string_view text) {
  auto parsed = Url::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(Url());
}

std::string error_of(const Result<void>& result) {
  return result ? "" : result.error().message;
}

TEST(HostRequests, WithoutEntriesAllHostsHaveTheCommonSettings) {
  CrawlConfig::Fetch fetch;
  fetch.headers = {"Accept-Language: en"};
  fetch.cookies = true;
  fetch.referer = true;
  fetch.proxy = "http://proxy.test:3128";
  const HostRequests requests(fetch);
  const auto& settings = requests.for_url(url("https://example.com/"));
  EXPECT_THAT(settings.headers, ElementsAre("Accept-Language: en"));
  EXPECT_TRUE(settings.cookies);
  EXPECT_TRUE(settings.referer);
  EXPECT_EQ(settings.proxy, "http://proxy.test:3128");
  EXPECT_EQ(&settings, &requests.for_url(url("http://other.test/x")));
}

// As the hosts of a Profile.
TEST(HostRequests, TheExactHostCountsElseTheLongestDomain) {
  CrawlConfig::Fetch fetch;
  fetch.proxy = "http://common:1";
  const auto add = [&](const char* host, const char* proxy) {
    fetch.hosts.push_back({.host = host,
                           .headers = {},
                           .basic_auth = {},
                           .bearer_token = {},
                           .cookies = {},
                           .referer = {},
                           .proxy = proxy});
  };
  add(".example.com", "http://domain:1");
  add("www.example.com", "http://exact:1");
  add(".a.example.com", "http://longer:1");
  add("Sub.B.example.com.", "http://spelt:1");
  add("127.0.0.1", "http://v4:1");
  add("[::1]", "http://v6:1");
  add("bücher.example", "http://idn:1");
  add(".com", "");
  const HostRequests requests(fetch);
  const std::pair<const char*, const char*> cases[] = {
      {"http://example.com/", "http://domain:1"},
      {"http://example.com./", "http://domain:1"},
      {"http://user@EXAMPLE.com:8080/", "http://domain:1"},
      {"http://x.y.example.com/", "http://domain:1"},
      {"http://www.example.com/", "http://exact:1"},
      {"https://www.example.com./", "http://exact:1"},
      {"http://x.www.example.com/", "http://domain:1"},
      {"http://a.example.com/", "http://longer:1"},
      {"http://b.a.example.com/", "http://longer:1"},
      {"http://sub.b.example.com/", "http://spelt:1"},
      {"http://127.0.0.1/", "http://v4:1"},
      {"http://[::1]:8080/", "http://v6:1"},
      {"http://xn--bcher-kva.example/", "http://idn:1"},
      {"http://other.com/", ""},
      {"http://notexample.com/", ""},
      {"http://example.com.evil.test/", "http://common:1"},
      {"http://127.0.0.2/", "http://common:1"},
      {"http://example.org/", "http://common:1"},
  };
  for (const auto& [text, proxy] : cases)
    EXPECT_EQ(requests.for_url(url(text)).proxy, proxy) << text;
  std::string long_name = "http://";
  for (int i = 0; i < 200; ++i)
    long_name += "aa.";
  EXPECT_EQ(requests.for_url(url(long_name + "example.com/")).proxy, "http://common:1");
}

TEST(HostRequests, LoginsImplyCookiesForTheirHosts) {
  CrawlConfig::Fetch fetch;
  HostRequestsText text;
  text.host = "example.com";
  text.bearer_token = "token";
  fetch.hosts = {text};
  text.host = ".c.example.com";
  text.bearer_token = {};
  text.headers = {"X-Own: 1"};
  fetch.hosts.push_back(text);
  text.host = ".other.test";
  fetch.hosts.push_back(text);
  fetch.logins = {{.url = "https://example.com/", .host = ".example.com"},
                  {.url = "https://www.other.test/", .host = "www.other.test"}};
  const HostRequests requests(fetch);
  const auto settings = [&](const char* href) { return requests.for_url(url(href)); };
  EXPECT_TRUE(settings("https://example.com/").cookies);
  EXPECT_THAT(settings("https://example.com/").headers, ElementsAre("Authorization: Bearer token"));
  EXPECT_TRUE(settings("https://b.example.com/").cookies);
  EXPECT_THAT(settings("https://b.example.com/").headers, ElementsAre());
  EXPECT_TRUE(settings("https://c.example.com/").cookies);
  EXPECT_THAT(settings("https://c.example.com/").headers, ElementsAre("X-Own: 1"));
  EXPECT_TRUE(settings("https://www.other.test/").cookies);
  EXPECT_THAT(settings("https://www.other.test/").headers, ElementsAre("X-Own: 1"));
  EXPECT_FALSE(settings("https://img.other.test/").cookies);
  EXPECT_FALSE(settings("https://else.test/").cookies);
}

TEST(HostRequests, WhatAnEntryDoesNotSayIsAsForAll) {
  CrawlConfig::Fetch fetch;
  fetch.headers = {"Accept-Language: en", "X-Common: 1"};
  fetch.referer = true;
  fetch.proxy = "http://proxy.test:3128";
  HostRequestsText text;
  text.host = "example.com";
  text.headers = {"accept-language: de", "X-Own: 2", "X-Own: 3"};
  fetch.hosts = {text};
  text.host = "no.example.com";
  text.headers = {};
  text.referer = false;
  text.cookies = true;
  text.proxy = "";
  fetch.hosts.push_back(text);
  const HostRequests requests(fetch);
  const auto& first = requests.for_url(url("http://example.com/"));
  EXPECT_THAT(first.headers,
              UnorderedElementsAre("X-Common: 1", "accept-language: de", "X-Own: 2", "X-Own: 3"));
  EXPECT_TRUE(first.referer);
  EXPECT_FALSE(first.cookies);
  EXPECT_EQ(first.proxy, "http://proxy.test:3128");
  const auto& second = requests.for_url(url("http://no.example.com/"));
  EXPECT_THAT(second.headers, ElementsAre("Accept-Language: en", "X-Common: 1"));
  EXPECT_FALSE(second.referer);
  EXPECT_TRUE(second.cookies);
  EXPECT_EQ(second.proxy, "");
}

TEST(HostRequests, AuthorizationIsOneHeader) {
  CrawlConfig::Fetch fetch;
  HostRequestsText text;
  text.host = "basic.test";
  text.basic_auth = "Aladdin:open sesame";  // RFC 7617, 2
  fetch.hosts = {text};
  text.host = "padded.test";
  text.basic_auth = "a:b";
  fetch.hosts.push_back(text);
  text.host = "colons.test";
  text.basic_auth = ":x:\xC3\xA9";
  fetch.hosts.push_back(text);
  text.host = ".bearer.test";
  text.basic_auth = "";
  text.bearer_token = "mF_9.B5f-4.1JqM";  // RFC 6750, 2.1
  fetch.hosts.push_back(text);
  EXPECT_TRUE(HostRequests::check_hosts(fetch.hosts));
  const HostRequests requests(fetch);
  const auto headers = [&](const char* text) { return requests.for_url(url(text)).headers; };
  EXPECT_THAT(headers("http://basic.test/"),
              ElementsAre("Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="));
  EXPECT_THAT(headers("http://padded.test/"), ElementsAre("Authorization: Basic YTpi"));
  EXPECT_THAT(headers("http://colons.test/"), ElementsAre("Authorization: Basic Ong6w6k="));
  EXPECT_THAT(headers("http://x.bearer.test/"),
              ElementsAre("Authorization: Bearer mF_9.B5f-4.1JqM"));
  EXPECT_THAT(headers("http://other.test/"), ElementsAre());
  EXPECT_THAT(headers("http://basic.test.other.test/"), ElementsAre());
}

TEST(HostRequests, ACookieHeaderLeavesNoRoomForAJar) {
  CrawlConfig::Fetch fetch;
  fetch.cookies = true;
  HostRequestsText text;
  text.host = "example.com";
  text.headers = {"COOKIE: session=1"};
  fetch.hosts = {text};
  EXPECT_TRUE(HostRequests::check_hosts(fetch.hosts));
  const HostRequests requests(fetch);
  EXPECT_FALSE(requests.for_url(url("http://example.com/")).cookies);
  EXPECT_TRUE(requests.for_url(url("http://other.test/")).cookies);
  text.cookies = true;
  EXPECT_THAT(error_of(HostRequests::check(text)), HasSubstr("Cookie"));
}

TEST(HostRequests, HeadersAreChecked) {
  for (const char* good : {"X-A: b", "Accept-Language:en", "Cookie: a=b; c=d", "Authorization: x",
                           "!#$%&'*+-.^_`|~09: \xE2\x82\xAC", "A:  b  ", "Via: x: y"}) {
    EXPECT_EQ(error_of(HostRequests::check_header(good)), "") << good;
  }
  using namespace std::string_literals;
  for (const std::string& bad : {""s,
                                 "no colon"s,
                                 ": x"s,
                                 "a b: c"s,
                                 "X-A : b"s,
                                 " X-A: b"s,
                                 "X-\xC3\xA9: b"s,
                                 "X-A: b\r\n"s,
                                 "X-A: b\nX-B: c"s,
                                 "X-A: b\rc"s,
                                 "X-A: b\0c"s,
                                 "X-A: \x7F"s,
                                 "X-A: a\tb"s,
                                 "X\r\n-A: b"s,
                                 "X-A:"s,
                                 "X-A:  "s,
                                 "X-A;"s,
                                 "Host: x"s,
                                 "hOST: x"s,
                                 "Content-Length: 1"s,
                                 "Transfer-Encoding: chunked"s,
                                 "Connection: close"s,
                                 "Accept-Encoding: gzip"s,
                                 "User-Agent: x"s,
                                 "Proxy-Authorization: x"s,
                                 "Range: bytes=0-1"s,
                                 "If-None-Match: \"x\""s,
                                 "Expect: 100-continue"s,
                                 "TE: trailers"s,
                                 "Upgrade: h2c"s,
                                 "Referer: x"s,
                                 "X: " + std::string(20'000, 'a')}) {
    EXPECT_NE(error_of(HostRequests::check_header(bad)), "") << bad.substr(0, 80);
    HostRequestsText text;
    text.host = "example.com";
    text.headers = {"X-Good: 1", bad};
    EXPECT_FALSE(HostRequests::check(text)) << bad.substr(0, 80);
  }
  EXPECT_THAT(error_of(HostRequests::check_header("User-Agent: x")), HasSubstr("crawl.user_agent"));
}

TEST(HostRequests, SecretsAreNotForAllHosts) {
  EXPECT_TRUE(HostRequests::check_common_header("Accept-Language: en"));
  EXPECT_FALSE(HostRequests::check_common_header("Host: x"));
  for (const char* header : {"Authorization: Bearer s3cret", "cookie: s3cret"}) {
    const std::string error = error_of(HostRequests::check_common_header(header));
    EXPECT_THAT(error, HasSubstr("[[fetch.host]]"));
    EXPECT_THAT(error, Not(HasSubstr("s3cret")));
  }
}

TEST(HostRequests, ProxiesAreChecked) {
  for (const char* good :
       {"", "http://127.0.0.1", "http://127.0.0.1:3128", "https://proxy.test/", "socks4://a:1080",
        "socks4a://a", "socks5://[::1]:1080", "socks5h://user:pw@proxy.test:1",
        "http://us%40er:p%3Aw:x@a_b-c.test:1", "http://user@a", "http://a.test.:80"}) {
    EXPECT_EQ(error_of(HostRequests::check_proxy(good)), "") << good;
  }
  for (const char* bad :
       {"127.0.0.1:3128", "proxy.test", "ftp://x", "file:///etc/passwd", "http://", "http:///x",
        "socks5://", "http://:80", "http://x:0", "http://x:65536", "http://x:a", "http://x/path",
        "http://x?q", "http://x#f", "http://a b", "http://x\n", "http://x\\y", "http:x",
        " http://x", "socks6://x", "HTTP://x:1", "http://[::1", "http://us\xC3\xA9r@x",
        // What libcurl does not take.
        "http://user:p@ss@127.0.0.1:9", "http://@@x", "http://user:a%00b@x", "http://us%0aer:a@x",
        "http://user:%1F@x", "http://a+b", "http://a,b:1", "http://a%62c:1"}) {
    EXPECT_NE(error_of(HostRequests::check_proxy(bad)), "") << bad;
  }
  const std::string error = error_of(HostRequests::check_proxy("http://user:p@s3cret@127.0.0.1:9"));
  EXPECT_THAT(error, HasSubstr("%40"));
  EXPECT_THAT(error, Not(HasSubstr("s3cret")));
}

TEST(HostRequests, DnsServersAreChecked) {
  for (const char* good : {"127.0.0.1", "127.0.0.1:53", "::1", "[::1]", "[::1]:5353"})
    EXPECT_EQ(error_of(HostRequests::check_dns_server(good)), "") << good;
  for (const char* bad : {"", "dns.test", "127.0.0.1:", "127.0.0.1:0", ":53", "[]:53", "[::1]:x",
                          "127.0.0.1:99999", "127.0.0.1:-1", "127.0.0.1 "}) {
    EXPECT_NE(error_of(HostRequests::check_dns_server(bad)), "") << bad;
  }
  EXPECT_FALSE(HostRequests::check_dns_server(std::string_view("127.0.0.1\0x", 11)));
}

TEST(HostRequests, AuthorizationIsChecked) {
  HostRequestsText text;
  text.host = "example.com";
  const auto error = [&](std::string basic, std::string bearer, std::vector<std::string> headers) {
    text.basic_auth = std::move(basic);
    text.bearer_token = std::move(bearer);
    text.headers = std::move(headers);
    return error_of(HostRequests::check(text));
  };
  EXPECT_EQ(error("user:s3cret", "", {}), "");
  EXPECT_EQ(error("", "s3cret", {}), "");
  EXPECT_EQ(error("", "", {"Authorization: s3cret"}), "");
  for (const std::string& message :
       {error("user:s3cret", "s3cret", {}), error("u:s3cret", "", {"authorization: s3cret"}),
        error("", "s3cret", {"AUTHORIZATION: s3cret"}),
        error("", "", {"Authorization: s3cret", "Authorization: s3cret"}), error("s3cret", "", {}),
        error("user:s3cret\r\nX: y", "", {}), error("", "s3cret\n", {}), error("", "s3 cret", {}),
        error("", "Bearer s3cret", {}), error(std::string(5000, ':'), "", {}),
        error("", std::string(20'000, 'a'), {})}) {
    EXPECT_NE(message, "");
    EXPECT_THAT(message, Not(HasSubstr("s3cret")));
  }
}

TEST(HostRequests, HostsAreCheckedAndUnique) {
  std::vector<HostRequestsText> texts(2);
  const auto error = [&](const char* first, const char* second) {
    texts[0].host = first;
    texts[1].host = second;
    return error_of(HostRequests::check_hosts(texts));
  };
  EXPECT_EQ(error("example.com", ".example.com"), "");
  EXPECT_THAT(error("example.com", "EXAMPLE.com."), HasSubstr("twice"));
  EXPECT_THAT(error(".example.com", ".Example.com"), HasSubstr("twice"));
  for (const char* bad : {"", ".", "http://example.com", "example.com:80", "example.com/", "*.x",
                          ".127.0.0.1", "a b"}) {
    EXPECT_NE(error("example.com", bad), "") << bad;
  }
  texts[1].proxy = "nonsense";
  EXPECT_THAT(error("example.com", "www.example.com"), HasSubstr("www.example.com"));
}

}  // namespace
}  // namespace trawl
