// What HttpClient sends and keeps: headers, cookies, captured heads.
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compressed.h"
#include "crawler/http/cookie_jars.h"
#include "crawler/http/site_cookies.h"
#include "http_client_fixture.h"
#include "raw_server.h"

namespace trawl {
namespace {

using test::client_of;
using test::Connection;
using test::fetch;
using test::gzip;
using test::kOk;
using test::quick;
using test::RawServer;
using test::run_all;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

HttpResponse get(HttpClient& client, const HttpRequest& request) {
  HttpResponse got;
  client.start(request, [&](HttpResponse response) { got = std::move(response); });
  run_all(client);
  return got;
}

TEST(HttpClientRequests, HeadersAreSentWithTheirRequestOnly) {
  const RawServer server(
      [](Connection& client, const std::string&) { return client.reply(kOk, "x"); });
  const auto client = client_of(quick());
  const std::string url = server.url("/");
  get(*client, {.url = url, .max_body = 10, .headers = {"Authorization: Bearer a", "X-One: 1"}});
  get(*client, {.url = url, .max_body = 10});
  get(*client, {.url = url, .max_body = 10, .headers = {"If-None-Match: \"e\""}});
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_THAT(requests[0],
              AllOf(HasSubstr("\r\nAuthorization: Bearer a\r\n"), HasSubstr("\r\nX-One: 1\r\n")));
  EXPECT_THAT(requests[1], AllOf(Not(HasSubstr("Authorization")), Not(HasSubstr("X-One"))));
  EXPECT_THAT(requests[2],
              AllOf(HasSubstr("\r\nIf-None-Match: \"e\"\r\n"), Not(HasSubstr("Authorization"))));
  for (const std::string& request : requests)
    EXPECT_THAT(request, HasSubstr("\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n"));
}

TEST(HttpClientRequests, AFormIsPostedAndItsBodyIsNotCaptured) {
  const RawServer server([](Connection& client, const std::string& target) {
    return client.reply(
        target == "/in" ? "HTTP/1.1 302 Found\r\nLocation: /\r\n" : std::string(kOk), "x");
  });
  HttpOptions options = quick();
  options.capture = true;
  const auto client = client_of(options);
  const auto posted = get(*client, {.url = server.url("/in"), .max_body = 10, .form = "p=s3cret"});
  EXPECT_EQ(posted.status, 302);
  EXPECT_THAT(posted.request_head, AllOf(HasSubstr("POST /in HTTP"), Not(HasSubstr("s3cret"))));
  // RawServer reads heads only: what is left of the body stands before the next.
  get(*client, {.url = server.url("/"), .max_body = 10});
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_THAT(requests[0],
              AllOf(HasSubstr("\r\nContent-Length: 8\r\n"),
                    HasSubstr("\r\nContent-Type: application/x-www-form-urlencoded\r\n")));
  EXPECT_THAT(requests[1],
              AllOf(StartsWith("p=s3cretGET / HTTP/1.1\r\n"), Not(HasSubstr("Content-"))));
}

TEST(HttpClientRequests, ValidatorsAndEncodingsAreGiven) {
  const RawServer server([](Connection& client, const std::string& target) {
    if (target == "/same") return client.send("HTTP/1.1 304 Not Modified\r\nETag: \"v2\"\r\n\r\n");
    return client.reply(std::string(kOk) +
                            "ETag: W/\"v1\"\r\nLast-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\n"
                            "Content-Encoding: gzip\r\n",
                        gzip("text"));
  });
  const HttpResponse page = fetch({.url = server.url("/"), .max_body = 100});
  EXPECT_EQ(page.body, "text");
  EXPECT_EQ(page.content_encoding, "gzip");
  EXPECT_EQ(page.encoded_bytes, gzip("text").size());
  EXPECT_EQ(page.etag, "W/\"v1\"");
  EXPECT_EQ(page.last_modified, "Wed, 21 Oct 2015 07:28:00 GMT");
  EXPECT_EQ(page.protocol, "http/1.1");
  const HttpResponse same = fetch({.url = server.url("/same"), .max_body = 100});
  EXPECT_EQ(same.status, 304);
  EXPECT_EQ(same.error, "");
  EXPECT_EQ(same.etag, "\"v2\"");
}

TEST(HttpClientRequests, CookiesStayInTheirJar) {
  const RawServer server([](Connection& client, const std::string& target) {
    return client.reply(std::string(kOk) + "Set-Cookie: visit=" + target.substr(1) + "\r\n", "x");
  });
  const auto client = client_of(quick());
  const auto visit = [&](const std::string& name, const std::string& jar,
                         const std::string& host = "127.0.0.1") {
    get(*client, {.url = server.url("/" + name, host), .max_body = 10, .cookie_jar = jar});
    return server.requests().back();
  };
  EXPECT_THAT(visit("one", "a"), Not(HasSubstr("Cookie")));
  EXPECT_THAT(visit("two", "a"), HasSubstr("\r\nCookie: visit=one\r\n"));
  EXPECT_THAT(visit("three", "b"), Not(HasSubstr("Cookie"))) << "another jar";
  EXPECT_THAT(visit("four", ""), Not(HasSubstr("Cookie"))) << "no jar";
  EXPECT_THAT(visit("five", "a", "127.0.0.2"), Not(HasSubstr("Cookie"))) << "another host";
  EXPECT_THAT(visit("six", "a"), HasSubstr("\r\nCookie: visit=two\r\n"));
  EXPECT_THAT(visit("seven", "b"), HasSubstr("\r\nCookie: visit=three\r\n"));
}

TEST(HttpClientRequests, AJarDoesNotGrowWithoutEnd) {
  int next = 0;
  const RawServer server([&](Connection& client, const std::string&) {
    std::string head = kOk;
    for (int i = 0; i < 20; ++i)
      head += "Set-Cookie: c" + std::to_string(next++) + "=" + std::string(200, 'x') + "\r\n";
    return client.reply(head, "x");
  });
  const auto client = client_of(quick());
  for (int i = 0; i < 50; ++i)
    get(*client, {.url = server.url("/"), .max_body = 10, .cookie_jar = "jar"});
  const std::string last = server.requests().back();
  EXPECT_THAT(last, HasSubstr("Cookie: c"));
  EXPECT_LE(last.size(), CookieJars::kMaxJarBytes);
}

TEST(HttpClientRequests, ClientsShareTheCookiesOfASite) {
  int next = 0;
  const RawServer server([&](Connection& client, const std::string& target) {
    const std::string set =
        target == "/set" ? "Set-Cookie: n=" + std::to_string(++next) + "\r\n" : "";
    return client.reply(std::string(kOk) + set, "x");
  });
  HttpOptions options = quick();
  options.cookies = std::make_shared<SiteCookies>();
  const auto one = client_of(options), other = client_of(options);
  const auto visit = [&](HttpClient& client, const std::string& path) {
    get(client, {.url = server.url(path), .max_body = 10, .cookie_jar = "127.0.0.1"});
    return server.requests().back();
  };
  EXPECT_THAT(visit(*one, "/set"), Not(HasSubstr("Cookie")));
  EXPECT_THAT(visit(*other, "/"), HasSubstr("\r\nCookie: n=1\r\n"));
  EXPECT_THAT(visit(*other, "/set"), HasSubstr("\r\nCookie: n=1\r\n"));
  EXPECT_THAT(visit(*one, "/"), HasSubstr("\r\nCookie: n=2\r\n"));
  EXPECT_EQ(options.cookies->find("127.0.0.1", 0)->lines.size(), 1u);
}

TEST(HttpClientRequests, SecretFieldsAreNotCaptured) {
  const RawServer server([&](Connection& client, const std::string&) {
    return client.reply(
        std::string(kOk) +
            "Set-Cookie: n=s3cret\r\nX-Api-Key: s3cret\r\n  s3cret\r\nX-Other: y\r\n",
        "x");
  });
  HttpOptions options = quick();
  options.capture = true;
  options.cookies = std::make_shared<SiteCookies>();
  const auto client = client_of(options);
  const auto heads = [&] {
    const auto response = get(*client, {.url = server.url("/"),
                                        .max_body = 10,
                                        .headers = {"X-API-Key: s3cret", "X-Mine: z"},
                                        .secret_fields = {"x-api-key"},
                                        .cookie_jar = "127.0.0.1"});
    EXPECT_THAT(server.requests().back(), HasSubstr("X-API-Key: s3cret"));
    return response.request_head + response.response_head;
  };
  EXPECT_THAT(heads(), AllOf(HasSubstr("Set-Cookie: n=s3cret\r\n"), HasSubstr("X-Other: y"),
                             HasSubstr("X-Mine: z"), Not(HasSubstr("pi-Key"))));
  CookiesFile file;
  file.sites.push_back({"127.0.0.1", {"127.0.0.1\tFALSE\t/\tFALSE\t0\tm\ts3cret"}});
  options.cookies->import(file);
  EXPECT_THAT(heads(),
              AllOf(HasSubstr("X-Other: y"), HasSubstr("X-Mine: z"), HasSubstr("GET / HTTP"),
                    HasSubstr("HTTP/1.1 200"), Not(HasSubstr("s3cret"))));
  EXPECT_THAT(server.requests().back(), AllOf(HasSubstr("n=s3cret"), HasSubstr("m=s3cret")));
}

TEST(CookieJars, TheyStayWithinTheirBytes) {
  constexpr std::size_t kMost = 20 * CookieJars::kBytesOfAnEmptyJar;
  CookieJars jars(1000, kMost);
  for (int i = 0; i < 100; ++i)
    jars.find(std::to_string(i));
  EXPECT_LE(jars.size(), 21u) << "empty ones count";
  jars.find("large")->add(kMost);
  const auto other = jars.find("other");
  EXPECT_EQ(jars.size(), 1u);
  EXPECT_EQ(jars.find("other"), other);
}

TEST(CookieJars, TheirMemoryCountsInTheBudget) {
  const auto budget = std::make_shared<BodyMemoryBudget>(64u << 20);
  {
    CookieJars jars(1000, CookieJars::kMaxBytes, budget);
    jars.find("one")->add(5000);
    EXPECT_GE(budget->held(), 5000 + CookieJars::kBytesOfAnEmptyJar);
    for (int i = 0; i < 2000; ++i)
      jars.find(std::to_string(i))->add(CookieJars::kMaxJarBytes);
    EXPECT_LE(budget->held(), CookieJars::kMaxBytes + 4 * CookieJars::kMaxJarBytes);
    EXPECT_GE(budget->held(), CookieJars::kMaxBytes / 2);
  }
  EXPECT_EQ(budget->held(), 0u);
}

TEST(CookieJars, TheOneNotUsedForLongestGoes) {
  CookieJars jars(2);
  const auto one = jars.find("one");
  const auto two = jars.find("two");
  EXPECT_EQ(jars.find("one"), one);
  jars.find("three");
  EXPECT_EQ(jars.size(), 2u);
  EXPECT_EQ(jars.find("one"), one);
  EXPECT_NE(jars.find("two"), two) << "a new one: the old was dropped";
}

TEST(HttpClientRequests, CapturingKeepsHeadsAndBodiesAsTheyCame) {
  const std::string packed = gzip("the text");
  const RawServer server([&](Connection& client, const std::string& target) {
    client.send("HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n");
    if (target == "/plain") return client.reply(kOk, "plain");
    client.send("HTTP/1.1 200 Fine\r\nContent-Encoding:gzip\r\nX-Odd:  a \r\n\r\n" + packed);
    return false;
  });
  HttpOptions options = quick();
  options.capture = true;
  const auto client = client_of(options);
  const HttpResponse plain = get(*client, {.url = server.url("/plain"), .max_body = 100});
  EXPECT_EQ(plain.body, "plain");
  EXPECT_EQ(plain.encoded_body, "") << "it is the body";
  EXPECT_EQ(plain.response_head, std::string(kOk) + "Content-Length: 5\r\n");
  EXPECT_EQ(plain.request_head + "\r\n", server.requests()[0]);

  const HttpResponse coded = get(
      *client, {.url = server.url("/coded"), .max_body = 100, .headers = {"X-Secret: of this"}});
  EXPECT_EQ(coded.body, "the text");
  EXPECT_TRUE(coded.encoded_body == packed);
  EXPECT_EQ(coded.response_head, "HTTP/1.1 200 Fine\r\nContent-Encoding:gzip\r\nX-Odd:  a \r\n");
  EXPECT_EQ(coded.request_head + "\r\n", server.requests()[1]);
  EXPECT_THAT(coded.request_head, HasSubstr("\r\nX-Secret: of this\r\n"));

  options.capture = false;
  const HttpResponse free = fetch({.url = server.url("/coded"), .max_body = 100}, options);
  EXPECT_EQ(free.body, "the text");
  EXPECT_EQ(free.request_head + free.response_head + free.encoded_body, "");
}

TEST(HttpClientRequests, CapturedHeadsDoNotHoldTheProxysPassword) {
  const RawServer proxy(
      [](Connection& client, const std::string&) { return client.reply(kOk, "x"); });
  HttpOptions options = quick();
  options.capture = true;
  const HttpResponse got = fetch({.url = "http://somewhere.example/",
                                  .max_body = 100,
                                  .proxy = proxy.url("", "user:pass@127.0.0.1")},
                                 options);
  EXPECT_THAT(proxy.requests()[0], HasSubstr("Proxy-Authorization"));
  EXPECT_THAT(got.request_head, AllOf(HasSubstr("GET http://somewhere.example/ HTTP/1.1\r\n"),
                                      Not(HasSubstr("Proxy-Authorization"))));
}

TEST(HttpClientRequests, AllAddressesOfAHostAreTried) {
  const RawServer server(
      [](Connection& client, const std::string&) { return client.reply(kOk, "x"); });
  const auto hosts =
      std::filesystem::path(::testing::TempDir()) / ("hosts-" + std::to_string(::getpid()));
  std::ofstream(hosts) << "127.0.0.8 many.test\n::1 many.test\n127.0.0.9 many.test\n"
                          "127.0.0.1 many.test\n127.0.0.8 none.test\n";
  HttpOptions options = quick();
  options.resolver.hosts_file = hosts;
  const HttpResponse got = fetch({.url = server.url("/", "many.test"), .max_body = 10}, options);
  EXPECT_EQ(got.error, "");
  EXPECT_EQ(got.address, "127.0.0.1");
  const HttpResponse none = fetch({.url = server.url("/", "none.test"), .max_body = 10}, options);
  EXPECT_EQ(none.failure, FetchError::kConnect);
  EXPECT_EQ(none.address, "127.0.0.8");
  options.allow_private_addresses = false;
  EXPECT_EQ(fetch({.url = server.url("/", "many.test"), .max_body = 10}, options).failure,
            FetchError::kAddressRefused);
  EXPECT_EQ(server.requests().size(), 1u);
  std::filesystem::remove(hosts);
}

}  // namespace
}  // namespace trawl
