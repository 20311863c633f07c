#include "crawler/http/http_client.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compressed.h"
#include "http_client_fixture.h"
#include "raw_server.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using test::client_of;
using test::Connection;
using test::DeafPort;
using test::fetch;
using test::get;
using test::gzip;
using test::impatient;
using test::kOk;
using test::quick;
using test::RawServer;
using test::run_all;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(HttpClient, GivesStatusTypeLocationAndBody) {
  const RawServer server([](Connection& client, const std::string& target) {
    if (target == "/moved") {
      return client.reply("HTTP/1.1 301 Moved\r\nlOcAtIoN: \t /new place \r\n", "moved");
    }
    if (target == "/missing") return client.reply("HTTP/1.1 404 Nope\r\n", "");
    return client.reply("HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=UTF-8\r\n", "<p>hi");
  });
  const HttpResponse page = get(server.url("/page?q=%41"));
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.error, "");
  EXPECT_EQ(page.content_type, "text/html; charset=UTF-8");
  EXPECT_EQ(page.location, "");
  EXPECT_EQ(page.body, "<p>hi");

  const HttpResponse moved = get(server.url("/moved"));
  EXPECT_EQ(moved.status, 301);
  EXPECT_EQ(moved.error, "");
  EXPECT_EQ(moved.location, "/new place");
  EXPECT_EQ(moved.body, "moved");

  const HttpResponse missing = get(server.url("/missing"));
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.error, "") << "a response is not a failure";
  EXPECT_EQ(missing.body, "");
  EXPECT_EQ(missing.content_type, "");
}

TEST(HttpClient, GivesTheAddressAndTheTimeToTheFirstByte) {
  constexpr milliseconds kThought{60};
  constexpr milliseconds kRest{150};
  const RawServer server([&](Connection& client, const std::string&) {
    std::this_thread::sleep_for(kThought);
    if (!client.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na")) return false;
    std::this_thread::sleep_for(kRest);
    return client.send("b");
  });
  const HttpResponse page = get(server.url("/"));
  EXPECT_EQ(page.address, "127.0.0.1");
  ASSERT_TRUE(page.response_time.has_value());
  EXPECT_GE(*page.response_time, kThought);
  // The time of the rest is not included; this thread may be late to see the first byte.
  EXPECT_LE(*page.response_time + kRest / 2, page.elapsed);

  const DeafPort nobody;
  const HttpResponse none = get("http://" + nobody.authority() + "/");
  EXPECT_EQ(none.status, 0);
  EXPECT_EQ(none.response_time, std::nullopt);
}

TEST(HttpClient, GivesTheHeadersThatSpeakToCrawlers) {
  const RawServer server([](Connection& client, const std::string& target) {
    const std::string many =
        "cache-control: max-age=60\r\nLink: </a>; rel=next\r\nX-Robots-Tag: bot: noindex\r\n"
        "LINK:   </b>\t\r\nX-Robots-Tag:\r\nX-Robots-Tags: all\r\nx-robots-tag: nofollow\r\n"
        "Cache-Control: public\r\nRetry-After: 120\r\nAge: 30\r\n";
    if (target == "/early") client.send("HTTP/1.1 103 Early Hints\r\n" + many + "\r\n");
    return client.reply(kOk + (target == "/many" ? many : ""), "x");
  });
  const HttpResponse many = get(server.url("/many"));
  EXPECT_EQ(many.cache_control, "max-age=60, public");
  EXPECT_EQ(many.link, "</a>; rel=next, </b>");
  EXPECT_EQ(many.x_robots_tag, "bot: noindex\n\nnofollow");
  EXPECT_EQ(many.retry_after, std::chrono::seconds(120));
  EXPECT_EQ(many.age, std::chrono::seconds(30));

  const HttpResponse last = get(server.url("/early"));
  EXPECT_EQ(last.status, 200);
  for (const std::string& header : {last.cache_control, last.link, last.x_robots_tag})
    EXPECT_EQ(header, "") << "of another response";
  EXPECT_EQ(last.retry_after, std::chrono::seconds(0));
  EXPECT_EQ(last.age, std::chrono::seconds(0));
}

TEST(HttpClient, AHeaderWithoutAValueIsEmptyWhateverSpaceFollowsIt) {
  std::string space;
  const RawServer server([&](Connection& client, const std::string&) {
    client.reply("HTTP/1.1 302 Found\r\nLocation:" + space + "\r\nLink:" + space + "\r\n", "");
    return false;
  });
  for (const char* some : {"", " ", "\t", " \t "}) {
    space = some;
    const HttpResponse moved = get(server.url("/"));
    EXPECT_EQ(moved.status, 302);
    EXPECT_EQ(moved.location, "");
    EXPECT_EQ(moved.link, "");
    EXPECT_FALSE(moved.is_redirect());
  }
}

TEST(HttpClient, AgeIsSecondsWithinBounds) {
  std::string value;
  const RawServer server([&](Connection& client, const std::string&) {
    client.reply("HTTP/1.1 200 OK\r\nAge: " + value + "\r\n", "");
    return false;
  });
  const auto age = [&](std::string text) {
    value = std::move(text);
    return get(server.url("/")).age;
  };
  using std::chrono::seconds;
  EXPECT_EQ(age("7"), seconds(7));
  for (const char* most : {"2147483649", "999999999999999999999999"})
    EXPECT_EQ(age(most), seconds(std::int64_t{1} << 31));
  for (const char* nothing : {"0", "", "-1", "-999999999999999999999999", "7s", "old"})
    EXPECT_EQ(age(nothing), seconds(0)) << nothing;
}

TEST(HttpClient, RetryAfterIsSecondsOrADate) {
  std::string value;
  const RawServer server([&](Connection& client, const std::string&) {
    client.reply("HTTP/1.1 503 Later\r\nRetry-After: " + value + "\r\n", "");
    return false;
  });
  const auto retry_after = [&](std::string text) {
    value = std::move(text);
    return get(server.url("/")).retry_after;
  };
  using std::chrono::seconds;
  constexpr seconds kMost{std::int64_t{1} << 31};
  EXPECT_EQ(retry_after("7"), seconds(7));
  EXPECT_EQ(retry_after("2147483649"), kMost);
  EXPECT_EQ(retry_after("999999999999999999999999"), kMost);
  for (const char* nothing : {"0", "-5", "-999999999999999999999999", "", "soon", "7 seconds",
                              "Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 99 Oct 2099"}) {
    EXPECT_EQ(retry_after(nothing), seconds(0)) << nothing;
  }
  const std::time_t date = std::time(nullptr) + 3600;
  char text[64];
  ASSERT_GT(std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", std::gmtime(&date)), 0u);
  EXPECT_GT(retry_after(text), seconds(3000));
  EXPECT_LE(retry_after(text), seconds(3600));
}

TEST(HttpClient, SendsTheUrlAsItIsAndSaysWhoItIs) {
  const RawServer server(
      [](Connection& client, const std::string&) { return client.reply(kOk, "x"); });
  EXPECT_EQ(get(server.url("/a/%2e%2E/./b/../c?x=/../y")).status, 200);
  ASSERT_EQ(server.requests().size(), 1u);
  const std::string request = server.requests()[0];
  EXPECT_THAT(request, HasSubstr("GET /a/%2e%2E/./b/../c?x=/../y HTTP/1.1\r\n"));
  EXPECT_THAT(request, HasSubstr("User-Agent: testbot/1.0 (+http://bot.example/)\r\n"));
  EXPECT_THAT(request, HasSubstr("gzip"));
}

TEST(HttpClient, IgnoresTheProxyOfTheEnvironment) {
  const DeafPort nobody;
  ::setenv("http_proxy", ("http://" + nobody.authority()).c_str(), 1);
  ::setenv("all_proxy", ("http://" + nobody.authority()).c_str(), 1);
  const RawServer server(
      [](Connection& client, const std::string&) { return client.reply(kOk, "direct"); });
  EXPECT_EQ(get(server.url("/")).body, "direct");
  ::unsetenv("http_proxy");
  ::unsetenv("all_proxy");
}

TEST(HttpClient, TheLastResponseCounts) {
  const RawServer server([](Connection& client, const std::string&) {
    client.send("HTTP/1.1 103 Early Hints\r\nLocation: /hint\r\n\r\n");
    return client.reply(kOk, "final");
  });
  const HttpResponse page = get(server.url("/"));
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.body, "final");
  EXPECT_EQ(page.location, "");
}

TEST(HttpClient, DecompressesBodies) {
  const std::string text = "<p>" + std::string(10'000, 'x') + "</p>";
  const RawServer server([&](Connection& client, const std::string& target) {
    const std::string head = std::string(kOk) + "Content-Encoding: gzip\r\n";
    std::string packed = gzip(text);
    if (target == "/cut") packed.resize(packed.size() / 2);
    if (target == "/garbage") packed = "this is not what gzip writes";
    return client.reply(head, packed);
  });
  const HttpResponse page = get(server.url("/whole"));
  EXPECT_EQ(page.error, "");
  EXPECT_TRUE(page.body == text) << page.body.size() << " bytes";
  EXPECT_THAT(get(server.url("/garbage")).error, Not(IsEmpty()));
}

TEST(HttpClient, LimitsTheBody) {
  constexpr std::uint64_t kLimit = 100'000;
  const RawServer server([](Connection& client, const std::string& target) {
    if (target == "/at") return client.reply(kOk, std::string(kLimit, 'x'));
    if (target == "/over") return client.reply(kOk, std::string(kLimit + 1, 'x'));
    if (target == "/bomb") {
      return client.reply(std::string(kOk) + "Content-Encoding: gzip\r\n",
                          gzip(std::string(20'000'000, '\0')));
    }
    // No length, and no end.
    client.send(std::string(kOk) + "\r\n");
    while (client.send(std::string(1000, 'x'))) {
    }
    return false;
  });
  const HttpResponse at = fetch({.url = server.url("/at"), .max_body = kLimit});
  EXPECT_EQ(at.error, "");
  EXPECT_EQ(at.body.size(), kLimit);
  for (const char* target : {"/over", "/bomb", "/endless"}) {
    SCOPED_TRACE(target);
    const HttpResponse over = fetch({.url = server.url(target), .max_body = kLimit});
    EXPECT_EQ(over.status, 200);
    EXPECT_EQ(over.error, "the body is larger than 100000 bytes");
    EXPECT_LE(over.body.size(), kLimit);

    const HttpResponse cut =
        fetch({.url = server.url(target), .max_body = kLimit, .truncate_body = true});
    EXPECT_EQ(cut.status, 200);
    EXPECT_EQ(cut.error, "");
    EXPECT_EQ(cut.body.size(), kLimit);
  }
}

// With its headers whole; else there is no body to be cut.
TEST(HttpClient, SaysWhyABodyIsNotWhole) {
  const std::string text = "<p>" + std::string(10'000, 'x') + "</p>";
  std::string noise;
  for (int i = 0; i < 5000; ++i)
    noise += std::to_string(i * 7919);
  const std::string packed = gzip(noise);
  const RawServer server([&](Connection& client, const std::string& target) {
    const std::string ok = kOk;
    const std::string half = packed.substr(0, packed.size() / 2);
    if (target == "/whole") return client.reply(ok, text);
    if (target == "/short") client.send(ok + "Content-Length: 20000\r\n\r\n" + text);
    if (target == "/chunked") client.send(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    if (target == "/torn-chunk") client.send(ok + "Transfer-Encoding: chunked\r\n\r\n9\r\nhello");
    if (target == "/zipped") return client.reply(ok + "Content-Encoding: gzip\r\n", half);
    if (target == "/stalled") {
      client.send(ok + "Content-Length: 20000\r\n\r\n" + text);
      return client.stall();
    }
    if (target == "/large") return client.reply(ok, std::string(2 << 20, 'x'));
    if (target == "/no-head") client.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n");
    if (target == "/reset") {
      client.send(ok + "Content-Length: 20000\r\n\r\n");
      return client.reset();
    }
    if (target == "/garbage") return client.reply(ok + "Content-Encoding: gzip\r\n", "no gzip");
    return false;
  });
  const auto cut = [&](const char* target) { return get(server.url(target), impatient()).cut; };
  EXPECT_EQ(cut("/whole"), std::nullopt);
  for (const char* target : {"/short", "/chunked", "/torn-chunk", "/reset", "/zipped"})
    EXPECT_EQ(cut(target), BodyTruncation::kDisconnect) << target;
  EXPECT_EQ(cut("/stalled"), BodyTruncation::kTime);
  EXPECT_EQ(cut("/large"), BodyTruncation::kLength);
  for (const char* target : {"/no-head", "/garbage", "/nothing"})
    EXPECT_EQ(cut(target), std::nullopt) << target;
  const HttpResponse zipped = get(server.url("/zipped"));
  EXPECT_FALSE(zipped.body.empty());
  EXPECT_TRUE(noise.starts_with(zipped.body)) << "what was decoded";
}

TEST(HttpClient, ReadsAPartOfWhatIsTooLargeIfThatIsWanted) {
  constexpr std::uint64_t kLimit = 100'000;
  const RawServer server([](Connection& client, const std::string& target) {
    const std::string type = target == "/film" ? "video/mp4" : "text/html";
    client.reply("HTTP/1.1 200 OK\r\nContent-Type: " + type + "\r\n", std::string(3 * kLimit, 'x'));
    return false;
  });
  const auto get_part = [&](const char* target, std::uint64_t max_body, std::uint64_t download) {
    return fetch({.url = server.url(target),
                  .max_body = max_body,
                  .max_download = download,
                  .wants_part = [](const HttpResponse& head) {
                    EXPECT_EQ(head.status, 200);
                    return head.content_type == "text/html";
                  }});
  };
  const HttpResponse page = get_part("/page", kLimit, 10 * kLimit);
  EXPECT_EQ(page.failure, FetchError::kBodyTooLarge);
  EXPECT_EQ(page.cut, BodyTruncation::kLength);
  EXPECT_EQ(page.body.size(), kLimit);
  const HttpResponse download = get_part("/page", 10 * kLimit, kLimit);
  EXPECT_EQ(download.failure, FetchError::kDownloadTooLarge);
  EXPECT_EQ(download.cut, BodyTruncation::kLength);
  EXPECT_EQ(download.body.size(), kLimit);
  const HttpResponse film = get_part("/film", kLimit, 10 * kLimit);
  EXPECT_EQ(film.failure, FetchError::kBodyTooLarge);
  EXPECT_EQ(film.cut, BodyTruncation::kLength);
  EXPECT_EQ(film.body, "");
}

TEST(HttpClient, LimitsTheHeaders) {
  const RawServer server([](Connection& client, const std::string& target) {
    client.send(kOk);
    const std::string line =
        target == "/lines" ? "X-Filler: " + std::string(500, 'x') + "\r\n" : std::string(500, 'x');
    while (client.send(line)) {
    }
    return false;
  });
  EXPECT_THAT(get(server.url("/lines")).error, HasSubstr("headers are larger than"));
  EXPECT_THAT(get(server.url("/one-line")).error, Not(IsEmpty()));
}

TEST(HttpClient, TimesOutWhereverTheServerStalls) {
  const RawServer server([](Connection& client, const std::string& target) {
    if (target == "/in-the-headers") client.send("HTTP/1.1 200 OK\r\nContent-Ty");
    if (target == "/in-the-body") client.send(std::string(kOk) + "Content-Length: 10\r\n\r\nhalf");
    if (target == "/by-trickling") {
      client.send(std::string(kOk) + "\r\n");
      while (client.send("x"))
        std::this_thread::sleep_for(milliseconds(5));
    }
    return client.stall();
  });
  for (const char* target : {"/at-once", "/in-the-headers", "/in-the-body", "/by-trickling"}) {
    const HttpResponse response = get(server.url(target), impatient());
    EXPECT_THAT(response.error, HasSubstr("timed out")) << target;
    EXPECT_GE(response.elapsed, milliseconds(200)) << target;
  }
  EXPECT_EQ(get(server.url("/at-once"), impatient()).status, 0);
}

// What the delay between requests to a host counts from.
TEST(HttpClient, SentIsWhenTheRequestWasSentHoweverLateThatIs) {
  using Clock = std::chrono::steady_clock;
  const RawServer server(
      [](Connection& client, const std::string&) { return client.reply(kOk, "x"); });
  const DeafPort nobody;
  const auto client = client_of(quick());
  std::vector<Clock::time_point> sent;
  const auto start = [&](const std::string& url) {
    client->start({.url = url, .max_body = 10},
                  [&](const HttpResponse& response) { sent.push_back(response.sent); });
  };
  start(server.url("/"));
  start(server.url("/"));
  start("http://" + nobody.authority() + "/");
  std::this_thread::sleep_for(milliseconds(20));  // busy with something else
  const auto before = Clock::now();
  run_all(*client);
  const auto after = Clock::now();
  ASSERT_EQ(sent.size(), 3u);
  for (const auto time : sent) {
    EXPECT_GE(time, before);
    EXPECT_LE(time, after);
  }
}

TEST(HttpClient, ConnectionRefused) {
  const DeafPort nobody;
  const HttpResponse response = get("http://" + nobody.authority() + "/");
  EXPECT_EQ(response.status, 0);
  EXPECT_THAT(response.error, HasSubstr(nobody.authority().substr(0, 9)));
  EXPECT_EQ(response.body, "");
}

TEST(HttpClient, BrokenAnswersAreFailures) {
  const RawServer server([](Connection& client, const std::string& target) {
    if (target == "/ssh") client.send("SSH-2.0-OpenSSH_9.2\r\n");
    if (target == "/noise") client.send(std::string("\0\xff\x01garbage\r\n\r\n", 13));
    if (target == "/short") client.send(std::string(kOk) + "Content-Length: 10\r\n\r\nhalf");
    if (target == "/bad-chunk") {
      client.send(std::string(kOk) + "Transfer-Encoding: chunked\r\n\r\nzz\r\nbody\r\n0\r\n\r\n");
    }
    if (target == "/reset") {
      client.send(std::string(kOk) + "Content-Length: 10\r\n\r\nhalf");
      return client.reset();
    }
    return false;
  });
  for (const char* target : {"/ssh", "/noise", "/short", "/bad-chunk", "/reset", "/close"}) {
    EXPECT_THAT(get(server.url(target)).error, Not(IsEmpty())) << target;
  }
}

TEST(HttpClient, SpeaksHttpAndHttpsOnly) {
  const RawServer server([](Connection& client, const std::string&) {
    client.send("HTTP/1.1 400 This is not TLS\r\n\r\n");
    return false;
  });
  std::string https = server.url("/");
  https.insert(4, "s");
  const HttpResponse plain = get(https);
  EXPECT_EQ(plain.status, 0);
  EXPECT_THAT(plain.error, Not(IsEmpty()));
  for (const char* url : {"file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/"}) {
    const HttpResponse refused = get(url);
    EXPECT_THAT(refused.error, HasSubstr("rotocol")) << url;
    EXPECT_EQ(refused.body, "") << url;
  }
}

TEST(HttpClient, RefusesPrivateAddressesUnlessAllowed) {
  const RawServer server(
      [](Connection& client, const std::string&) { return client.reply(kOk, "secret"); });
  HttpOptions options = quick();
  options.allow_private_addresses = false;
  for (const char* host : {"127.0.0.1", "localhost", "0.0.0.0", "0x7f.1"}) {
    const HttpResponse refused = get(server.url("/", host), options);
    EXPECT_EQ(refused.status, 0) << host;
    EXPECT_EQ(refused.body, "") << host;
    EXPECT_TRUE(refused.address_refused) << host;
    EXPECT_EQ(refused.error,
              "the host's address is private; set fetch.allow_private_addresses = true to allow it")
        << host;
  }
  EXPECT_EQ(server.connections(), 0);
  const HttpResponse allowed = get(server.url("/", "localhost"));
  EXPECT_EQ(allowed.body, "secret");
  EXPECT_FALSE(allowed.address_refused);
}

TEST(HttpClient, ARedirectIsAnAnswerAndNotFollowed) {
  const RawServer server([](Connection& client, const std::string& target) {
    const std::string status = target.substr(1);
    return client.reply("HTTP/1.1 " + status + " Elsewhere\r\nLocation: /200\r\n", "over there");
  });
  for (const int status : {200, 201, 300, 301, 302, 303, 304, 307, 308}) {
    const HttpResponse answer = get(server.url("/" + std::to_string(status)));
    EXPECT_EQ(answer.error, "");
    EXPECT_EQ(answer.status, status);
    EXPECT_EQ(answer.location, "/200");
    EXPECT_EQ(answer.is_redirect(), status > 300 && status != 304) << status;
  }
  EXPECT_EQ(server.requests().size(), 9u);
}

TEST(HttpClient, AddressesInUrlsAreOfTheIpVersionThatIsAllowed) {
  const RawServer server([](Connection& c, const std::string&) { return c.reply(kOk, "hi"); });
  HttpOptions options = quick();
  options.resolver.ip_version = IpVersion::kV4;
  EXPECT_EQ(get(server.url("/"), options).body, "hi");
  const HttpResponse v6 = get("http://[::1]:9/", options);
  EXPECT_EQ(v6.failure, FetchError::kAddressRefused) << "a setting forbids it";
  EXPECT_NE(v6.error.find("IPv6"), std::string::npos) << v6.error;
  EXPECT_FALSE(v6.resolve_again);

  options.resolver.ip_version = IpVersion::kV6;
  const HttpResponse v4 = get(server.url("/"), options);
  EXPECT_EQ(v4.failure, FetchError::kAddressRefused);
  EXPECT_NE(v4.error.find("IPv4"), std::string::npos) << v4.error;
  EXPECT_EQ(server.connections(), 1);
}

}  // namespace
}  // namespace trawl
