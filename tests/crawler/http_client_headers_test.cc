// What HttpClient reads of headers, however they are written.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compressed.h"
#include "http_client_fixture.h"
#include "raw_server.h"

namespace trawl {
namespace {

using test::Connection;
using test::fetch;
using test::get;
using test::gzip;
using test::kOk;
using test::quick;
using test::RawServer;

// The response to a head of these lines; captured as it came.
HttpResponse read_head(const std::string& lines) {
  const RawServer server([&](Connection& client, const std::string&) {
    client.send("HTTP/1.1 200 OK\r\n" + lines + "Content-Length: 0\r\n\r\n");
    return false;
  });
  HttpOptions options = quick();
  options.capture = true;
  HttpResponse got = get(server.url("/"), options);
  EXPECT_EQ(got.error, "") << lines;
  return got;
}

TEST(HttpClientHeaders, FoldedLinesAreOneLine) {
  const HttpResponse got = read_head(
      "Location: /one\r\n\t two\r\n"
      "Content-Type:\r\n text/html;\r\n\tcharset=utf-8  \r\n"
      "X-Robots-Tag: noindex,\r\n \t nofollow\r\n"
      "X-Robots-Tag: otherbot:\r\n none\r\n"
      "Cache-Control: no-cache\r\n   \r\n , no-store\r\n"
      "Link: </a>;\r\n rel=next\r\n"
      "ETag:\r\n \"x\"\r\n"
      "Last-Modified: Sun, 06 Nov\r\n 1994 08:49:37 GMT\r\n"
      "Retry-After:\r\n  7\r\n"
      "Age:\r\n\t3\r\n"
      "Refresh: 5;\r\n url=/there\r\n"
      "X-Content-Type-Options:\r\n nosniff\r\n"
      "X-Unread: a\r\n b\r\n");
  EXPECT_EQ(got.location, "/one two");
  EXPECT_EQ(got.content_type, "text/html; charset=utf-8");
  EXPECT_EQ(got.x_robots_tag, "noindex, nofollow\notherbot: none");
  EXPECT_EQ(got.cache_control, "no-cache , no-store");
  EXPECT_EQ(got.link, "</a>; rel=next");
  EXPECT_EQ(got.etag, "\"x\"");
  EXPECT_EQ(got.last_modified, "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(got.retry_after.count(), 7);
  EXPECT_EQ(got.age.count(), 3);
  EXPECT_EQ(got.refresh, "5; url=/there");
  EXPECT_TRUE(got.nosniff);
  EXPECT_NE(got.response_head.find("Location: /one\r\n\t two\r\n"), std::string::npos)
      << "archives have what came";
}

TEST(HttpClientHeaders, AFoldGoesOnWithNoHeaderOfAResponseBefore) {
  const RawServer server([&](Connection& client, const std::string&) {
    client.send(
        "HTTP/1.1 103 Early Hints\r\nLink: </hint>;\r\n rel=preload\r\nLocation: /hint\r\n\r\n"
        "HTTP/1.1 301 Moved\r\nX: y\r\n z\r\nLocation: /final\r\nContent-Length: 0\r\n\r\n");
    return false;
  });
  const HttpResponse got = get(server.url("/"));
  EXPECT_EQ(got.status, 301);
  EXPECT_EQ(got.location, "/final");
  EXPECT_EQ(got.link, "");
}

// libcurl passes long lines on in pieces, of which each but the first begins with a space here.
TEST(HttpClientHeaders, AFirstLineOfManyPiecesIsNotFolded) {
  const HttpResponse got = read_head("Location:" + std::string(60'000, ' ') + "/there\r\n");
  EXPECT_EQ(got.location, "/there");
}

// A handle serves one request after the other.
TEST(HttpClientHeaders, NothingOfAFailureIsLeftForTheNextRequest) {
  const RawServer server([&](Connection& client, const std::string& target) {
    if (target == "/reset") {
      client.reset();
    } else if (target == "/ends") {
      client.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbo");
    } else {
      client.reply(test::kOk, "good");
    }
    return target == "/good";
  });
  const auto client = test::client_of(quick());
  std::vector<std::string> errors;
  for (const char* target : {"/reset", "/ends", "/reset", "/good", "/ends", "/good"}) {
    client->start({.url = server.url(target), .max_body = 1000},
                  [&](const HttpResponse& got) { errors.push_back(got.error); });
    test::run_all(*client);
  }
  ASSERT_EQ(errors.size(), 6u);
  EXPECT_EQ(errors[0], errors[2]);
  EXPECT_EQ(errors[1], errors[4]);
  EXPECT_EQ(errors[3], "");
  EXPECT_EQ(errors[5], "");
}

TEST(HttpClientHeaders, RawBytesOfUrlsAreEscaped) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"/caf\xE9?q=\xFF", "/caf%E9?q=%FF"}, {"/caf\xC3\xA9", "/caf\xC3\xA9"},
      {"/\xC3\xA9/\xE9", "/%C3%A9/%E9"},    {"/\xE4\xBD\xA0 \xE5", "/%E4%BD%A0 %E5"},
      {"/plain%E9", "/plain%E9"},
  };
  for (const auto& [sent, read] : cases) {
    EXPECT_EQ(read_head("Location: " + sent + "\r\n").location, read);
    EXPECT_EQ(read_head("Refresh: 0;url=" + sent + "\r\n").refresh, "0;url=" + read);
  }
}

TEST(HttpClientHeaders, OfSeveralContentTypesTheLastOneCounts) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"Content-Type: text/html, text/plain\r\n", "text/plain"},
      {"Content-Type: text/plain\r\nContent-Type: text/html\r\n", "text/html"},
      {"Content-Type: text/html;charset=gbk\r\nContent-Type: text/html\r\n",
       "text/html; charset=gbk"},
      {"Content-Type: text/html\r\nContent-Type: */*\r\nContent-Type: html\r\n", "text/html"},
      {"Content-Type: html\r\n", "html"},
      {"Content-Type: \r\nContent-Type: text/html\r\n", "text/html"},
  };
  for (const auto& [lines, type] : cases)
    EXPECT_EQ(read_head(lines).content_type, type) << lines;
}

TEST(HttpClientHeaders, TheFirstRefreshAndNosniffCount) {
  EXPECT_EQ(read_head("Refresh: 1\r\nRefresh: 2\r\n").refresh, "1");
  EXPECT_TRUE(read_head("X-Content-Type-Options: NoSniff, other\r\n").nosniff);
  EXPECT_FALSE(read_head("X-Content-Type-Options: other, nosniff\r\n").nosniff);
  EXPECT_FALSE(read_head("X-Content-Type: nosniff\r\n").nosniff);
}

TEST(HttpClientHeaders, OddButHarmlessAnswersAreNoFailures) {
  const std::string ok = kOk;
  const std::vector<std::pair<std::string, std::string>> answers = {
      {ok + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nxy", "xy"},
      {ok + "Content-Encoding: rot13\r\nContent-Length: 0\r\n\r\n", ""},
      {ok + "Content-Encoding: rot13\r\nContent-Length: 1\r\n\r\nx", "x"},
      {ok + "Content-Encoding:\r\n utf-8,\r\n\tgzip\r\n\r\n" + gzip("folded"), "folded"},
      {ok + "Content-Encoding: gzip\r\n\r\n" +
           gzip("no trailer").substr(0, gzip("no trailer").size() - 8),
       "no trailer"},
      {ok + "Transfer-Encoding: chunked\r\n \r\n\r\n2\r\nxy\r\n0\r\n\r\n", "xy"},
      {ok + "Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n", ""},
      {ok + "Content-Encoding: identity\r\nContent-Length: 2\r\n\r\nxy", "xy"},
      {ok + "Content-Encoding: gzip\r\n\r\n" + gzip("one ") + gzip("two"), "one two"},
      {ok + "\r\nuntil the end", "until the end"},
      {"HTTP/1.0 200\r\nContent-Length: 2\r\n\r\nxy", "xy"},
      {(ok + "Transfer-Encoding: chunked\r\n\r\n" +
        "2\r\nxy\r\n0\r\nLocation: /trailer\r\nContent-Length: 7\r\n\r\n"),
       "xy"},
  };
  const RawServer server([&](Connection& client, const std::string& target) {
    client.send(answers[std::stoul(target.substr(1))].first);
    return false;
  });
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const HttpResponse got = get(server.url("/" + std::to_string(i)));
    EXPECT_EQ(got.error, "") << i;
    EXPECT_EQ(got.failure, std::nullopt) << i;
    EXPECT_EQ(got.body, answers[i].second) << i;
    EXPECT_EQ(got.location, "") << i;
  }
}

}  // namespace
}  // namespace trawl
