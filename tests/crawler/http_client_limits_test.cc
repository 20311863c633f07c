// What hostile servers may do to HttpClient: each case has its kind of failure, in bounded time.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compressed.h"
#include "crawler/http/content_coding.h"
#include "http_client_fixture.h"
#include "raw_server.h"

namespace trawl {
namespace {

using namespace std::string_literals;
using std::chrono::milliseconds;
using test::brotli;
using test::client_of;
using test::Connection;
using test::DeafPort;
using test::fetch;
using test::get;
using test::gzip;
using test::kOk;
using test::quick;
using test::RawServer;
using test::run_all;
using test::SilentPort;
using test::zstd;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(FetchErrors, HaveNamesOfTheirOwn) {
  std::map<std::string, int> names;
  for (std::size_t i = 0; i < kFetchErrors; ++i)
    ++names[std::string(to_string(static_cast<FetchError>(i)))];
  EXPECT_EQ(names.size(), kFetchErrors);
  EXPECT_EQ(to_string(FetchError::kConnectTimeout), "connect timeout");
}

struct BadAnswer {
  const char* what;
  std::string bytes;
  FetchError failure;
  bool reset = false;
};

std::string chunked(const std::string& chunks) {
  return std::string(kOk) + "Transfer-Encoding: chunked\r\n\r\n" + chunks;
}

std::vector<BadAnswer> bad_answers() {
  const std::string ok = kOk;
  std::string many = ok;
  for (int i = 0; i < 10'000; ++i)
    many += "X-" + std::to_string(i) + ": y\r\n";
  std::string folds;
  for (int i = 0; i < 400; ++i)
    folds += ' ' + std::string(1000, 'x') + "\r\n";
  return {
      {"closes at once", "", FetchError::kConnectionLost},
      {"resets at once", "", FetchError::kConnectionLost, true},
      {"another protocol", "SSH-2.0-OpenSSH_9.2\r\n", FetchError::kBadResponse},
      {"noise", "\0\xff\x01garbage\r\n\r\n"s, FetchError::kBadResponse},
      {"HTTP/0.9", "<html>hello</html>", FetchError::kBadResponse},
      {"ends in the status line", "HTTP/1.1 20", FetchError::kConnectionLost},
      {"ends in the headers", ok + "X-Half: ", FetchError::kConnectionLost},
      {"resets in the headers", ok + "X-Half: ", FetchError::kConnectionLost, true},
      {"NUL in a header", ok + "X-Nul: a\0b\r\nContent-Length: 1\r\n\r\nx"s,
       FetchError::kBadResponse},
      {"a folded first line", "HTTP/1.1 200 OK\r\n\tX: y\r\n\r\n", FetchError::kBadHeader},
      {"a folded first line of blanks", "HTTP/1.1 200 OK\r\n   \r\nX: y\r\n\r\n",
       FetchError::kBadResponse},
      {"a folded first line after a hint",
       "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\n X: y\r\n\r\n",
       FetchError::kBadHeader},
      {"a folded first line of a hint", "HTTP/1.1 103 Early Hints\r\n X: y\r\n\r\n" + ok + "\r\n",
       FetchError::kBadHeader},
      {"10,000 headers", many + "\r\n", FetchError::kBadResponse},
      {"a header without an end", ok + "X-Long: " + std::string(200'000, 'x'),
       FetchError::kHeadersTooLarge},
      {"a long header", ok + "X-Long: " + std::string(150'000, 'x') + "\r\n\r\n",
       FetchError::kHeadersTooLarge},
      {"a long status line", "HTTP/1.1 200 " + std::string(150'000, 'x') + "\r\n\r\n",
       FetchError::kHeadersTooLarge},
      {"a long trailer",
       chunked("2\r\nxy\r\n0\r\nX-Long: " + std::string(150'000, 'x') + "\r\n\r\n"),
       FetchError::kHeadersTooLarge},
      {"a header folded without an end", ok + "X-Long: y\r\n" + folds + "\r\n",
       FetchError::kHeadersTooLarge},
      {"a folded Transfer-Encoding",
       ok + "Transfer-Encoding: gzip,\r\n chunked\r\n\r\n2\r\nxy\r\n0\r\n\r\n",
       FetchError::kBadHeader},
      {"a folded Content-Length", ok + "Content-Length: 1\r\n 2\r\n\r\nxy",
       FetchError::kBadResponse},
      {"two lengths", ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxy",
       FetchError::kBadResponse},
      {"two lengths in one line", ok + "Content-Length: 1, 2\r\n\r\nxy", FetchError::kBadResponse},
      {"a length that is none", ok + "Content-Length: many\r\n\r\nxy", FetchError::kBadResponse},
      {"a negative length", ok + "Content-Length: -1\r\n\r\nxy", FetchError::kBadResponse},
      {"a length beyond all", ok + "Content-Length: 99999999999999999999999\r\n\r\nxy",
       FetchError::kBadResponse},
      {"closes in the body", ok + "Content-Length: 100\r\n\r\n" + std::string(50, 'x'),
       FetchError::kConnectionLost},
      {"resets in the body", ok + "Content-Length: 100\r\n\r\n" + std::string(50, 'x'),
       FetchError::kConnectionLost, true},
      {"a chunk's size is none", chunked("zz\r\nbody\r\n0\r\n\r\n"), FetchError::kBadResponse},
      {"a chunk's size is too large", chunked("ffffffffffffffffffff\r\nbody"),
       FetchError::kBadResponse},
      {"a chunk without its end", chunked("4\r\nbody!!\r\n0\r\n\r\n"), FetchError::kBadResponse},
      {"closes in a chunk", chunked("64\r\nbody"), FetchError::kConnectionLost},
      {"closes between chunks", chunked("4\r\nbody\r\n"), FetchError::kConnectionLost},
      {"four codings", ok + "Content-Encoding: br,br,br,br\r\nContent-Length: 1\r\n\r\nx",
       FetchError::kBadEncoding},
      {"not what the coding says", ok + "Content-Encoding: gzip\r\n\r\nplain text",
       FetchError::kBadEncoding},
      {"a claimed length beyond the limit", ok + "Content-Length: 9999999999\r\n\r\nx",
       FetchError::kDownloadTooLarge},
  };
}

TEST(HttpClientLimits, EveryBadAnswerHasItsFailure) {
  const std::vector<BadAnswer> answers = bad_answers();
  const RawServer server([&](Connection& client, const std::string& target) {
    if (target == "/good") {  // each request has a connection of its own
      client.reply(std::string(kOk) + "Connection: close\r\n", "good");
      return false;
    }
    const BadAnswer& bad = answers[std::stoul(target.substr(1))];
    client.send(bad.bytes);
    return bad.reset ? client.reset() : false;
  });
  const auto client = client_of(quick());
  const auto get_from = [&](const std::string& target) {
    HttpResponse got;
    client->start({.url = server.url(target), .max_body = 1 << 20, .max_download = 1 << 20},
                  [&](HttpResponse response) { got = std::move(response); });
    run_all(*client);
    return got;
  };
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const HttpResponse got = get_from("/" + std::to_string(i));
    EXPECT_EQ(to_string(got.failure), to_string(answers[i].failure))
        << answers[i].what << ": " << got.error;
    EXPECT_NE(got.error, "") << answers[i].what;
    EXPECT_THAT(got.error, Not(HasSubstr("memory"))) << answers[i].what;
    EXPECT_FALSE(got.connection_was_stale) << answers[i].what;
    const HttpResponse good = get_from("/good");
    EXPECT_EQ(good.error, "") << "after: " << answers[i].what;
    EXPECT_EQ(good.body, "good");
  }
}

TEST(HttpClientLimits, EachClockHasItsFailure) {
  const RawServer server([](Connection& client, const std::string& target) {
    if (target == "/headers") client.send("HTTP/1.1 200 OK\r\n");
    if (target == "/half-a-line") client.send("HTTP/1.1 200 O");
    if (target == "/body") client.send(std::string(kOk) + "Content-Length: 10\r\n\r\nhalf");
    return client.stall();
  });
  HttpOptions options = quick();
  options.first_byte_timeout = milliseconds(100);
  for (const char* target : {"/nothing", "/half-a-line"}) {
    const HttpResponse got = get(server.url(target), options);
    EXPECT_EQ(got.failure, FetchError::kFirstByteTimeout) << target;
    EXPECT_GE(got.elapsed, milliseconds(100));
    EXPECT_EQ(got.status, 0);
  }
  options.timeout = milliseconds(150);
  for (const char* target : {"/headers", "/body"}) {
    const HttpResponse got = get(server.url(target), options);
    EXPECT_EQ(got.failure, FetchError::kTimeout) << target;
    EXPECT_GE(got.elapsed, milliseconds(150));
    EXPECT_EQ(got.status, 200);
  }
  options.timeout = milliseconds(60'000);
  options.min_speed = 1000;
  options.min_speed_time = milliseconds(100);
  for (const char* target : {"/headers", "/body"})
    EXPECT_EQ(get(server.url(target), options).failure, FetchError::kTooSlow) << target;
}

TEST(HttpClientLimits, ConnectingHasFailuresOfItsOwn) {
  const SilentPort silent;
  HttpOptions options = quick();
  options.connect_timeout = milliseconds(100);
  const HttpResponse unanswered = get(silent.url(), options);
  EXPECT_EQ(unanswered.failure, FetchError::kConnectTimeout) << unanswered.error;
  EXPECT_GE(unanswered.elapsed, milliseconds(100));
  EXPECT_EQ(unanswered.address, "127.0.0.1");

  const DeafPort nobody;
  const HttpResponse refused = get("http://" + nobody.authority() + "/", options);
  EXPECT_EQ(refused.failure, FetchError::kConnect) << refused.error;
  EXPECT_EQ(get("http://no-such-name.invalid/", options).failure, FetchError::kResolve);
  EXPECT_EQ(get("gopher://127.0.0.1/").failure, FetchError::kOther);
}

TEST(HttpClientLimits, BodiesHaveOneLimitBeforeAndOneAfterDecompression) {
  const std::string bomb = gzip(std::string(50'000'000, '\0'));
  const RawServer server([&](Connection& client, const std::string& target) {
    const std::string head = std::string(kOk) + "Content-Encoding: gzip\r\n";
    if (target == "/bomb") return client.reply(head, bomb);
    if (target == "/bomb-in-chunks") {
      client.send(head + "\r\n" + bomb);
      return false;
    }
    client.send(std::string(kOk) + "\r\n");  // without an end
    while (client.send(std::string(10'000, 'x'))) {
    }
    return false;
  });
  for (const char* target : {"/bomb", "/bomb-in-chunks"}) {
    const HttpResponse got = fetch({.url = server.url(target), .max_body = 300'000});
    EXPECT_EQ(got.failure, FetchError::kBodyTooLarge) << target;
    EXPECT_EQ(got.body.size(), 300'000u) << target;
    EXPECT_LT(got.encoded_bytes, bomb.size()) << target;
    const HttpResponse cut =
        fetch({.url = server.url(target), .max_body = 300'000, .truncate_body = true});
    EXPECT_EQ(cut.error, "") << target;
    EXPECT_TRUE(cut.truncated);
    EXPECT_EQ(cut.body.size(), 300'000u);
    const HttpResponse heavy =
        fetch({.url = server.url(target), .max_body = 100'000'000, .max_download = 20'000});
    EXPECT_EQ(heavy.failure, FetchError::kDownloadTooLarge) << target;
    EXPECT_LE(heavy.encoded_bytes, 20'000u);
  }
  const HttpResponse endless =
      fetch({.url = server.url("/"), .max_body = 1'000'000, .max_download = 70'000});
  EXPECT_EQ(endless.failure, FetchError::kDownloadTooLarge);
  EXPECT_EQ(endless.body.size(), 70'000u);
  const HttpResponse cut = fetch({.url = server.url("/"),
                                  .max_body = 1'000'000,
                                  .max_download = 70'000,
                                  .truncate_body = true});
  EXPECT_EQ(cut.error, "");
  EXPECT_TRUE(cut.truncated);
  EXPECT_EQ(cut.body.size(), 70'000u);
}

TEST(HttpClientLimits, ACutOffCodingIsAFailureButWhatCameIsKept) {
  std::string text;
  for (int i = 0; i < 50'000; ++i)
    text += std::to_string(i) + ' ';
  std::string packed = gzip(text);
  packed.resize(packed.size() / 2);
  const RawServer server([&](Connection& client, const std::string&) {
    return client.reply(std::string(kOk) + "Content-Encoding: gzip\r\n", packed);
  });
  const HttpResponse got = get(server.url("/"));
  EXPECT_EQ(got.failure, FetchError::kBadEncoding);
  EXPECT_GT(got.body.size(), text.size() / 4);
  EXPECT_TRUE(text.starts_with(got.body));
  EXPECT_EQ(got.encoded_bytes, packed.size());
}

TEST(HttpClientLimits, WhatIsNotWantedIsCutOffAfterTheHeaders) {
  std::atomic<bool> all_sent{false};
  const RawServer server([&](Connection& client, const std::string& target) {
    client.send("HTTP/1.1 103 Early Hints\r\nContent-Type: x/y\r\n\r\n");
    if (target == "/page") return client.reply(kOk, "page");
    client.send("HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 99999999\r\n\r\n");
    all_sent = client.send(std::string(99'999'999, 'x'));
    return false;
  });
  std::vector<std::string> asked;
  const auto only_html = [&](const HttpResponse& head) {
    asked.push_back(head.content_type);
    EXPECT_EQ(head.status, 200);
    return head.content_type == "text/html";
  };
  const HttpResponse video =
      fetch({.url = server.url("/video"), .max_body = 1u << 30, .accept = only_html});
  EXPECT_EQ(video.failure, FetchError::kUnwantedType);
  EXPECT_THAT(video.error, HasSubstr("video/mp4"));
  EXPECT_EQ(video.status, 200);
  EXPECT_EQ(video.body, "");
  const HttpResponse page =
      fetch({.url = server.url("/page"), .max_body = 1 << 20, .accept = only_html});
  EXPECT_EQ(page.error, "");
  EXPECT_EQ(page.body, "page");
  EXPECT_EQ(asked, (std::vector<std::string>{"video/mp4", "text/html"}));
  EXPECT_FALSE(all_sent);
}

// Twenty bodies of 1 MB through 3 MB of memory: they take turns, and those that are ended for the
// others' sake are whole when tried again.
TEST(HttpClientMemory, TheBodiesOfAllClientsStayWithinTheBudget) {
  constexpr std::uint64_t kLimit = 3'000'000;
  constexpr int kBodies = 20;
  const std::string body(1'000'000, 'x');
  const std::string packed = gzip(body);
  const RawServer server([&](Connection& client, const std::string& target) {
    if (target == "/packed")
      return client.reply(std::string(kOk) + "Content-Encoding: gzip\r\n", packed);
    client.send(std::string(kOk) + "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 10; ++i) {
      if (!client.send("186a0\r\n" + body.substr(0, 100'000) + "\r\n")) return false;
    }
    return client.send("0\r\n\r\n");
  });
  HttpOptions options = quick();
  options.budget = std::make_shared<BodyMemoryBudget>(kLimit);
  options.connections = kBodies;
  std::uint64_t most = 0;
  int whole = 0;
  int ended = 0;
  std::vector<std::unique_ptr<HttpClient>> clients;
  clients.push_back(client_of(options));
  clients.push_back(client_of(options));
  std::function<void(int)> start = [&](int i) {
    clients[i % 2]->start(
        {.url = server.url(i % 4 < 2 ? "/packed" : "/plain"), .max_body = 2'000'000},
        [&, i](HttpResponse response) {
          most = std::max(most, options.budget->used());
          EXPECT_LE(response.charge.bytes(), 2'100'000u);
          if (response.failure == FetchError::kMemory) {
            ++ended;
            EXPECT_EQ(response.body, "");
            response = {};
            return start(i);
          }
          EXPECT_EQ(response.error, "");
          EXPECT_GE(response.charge.bytes(), response.body.size());
          whole += response.body == body;
        });
  };
  for (int i = 0; i < kBodies; ++i)
    start(i);
  while (clients[0]->active() + clients[1]->active() > 0) {
    for (const auto& client : clients)
      client->run(milliseconds(1));
    most = std::max(most, options.budget->used());
  }
  EXPECT_EQ(whole, kBodies);
  EXPECT_LE(most, kLimit);
  EXPECT_EQ(options.budget->used(), 0u);
  EXPECT_FALSE(options.budget->crowded());
}

TEST(HttpClientMemory, APausedTransferGoesOnWhenThereIsRoomAgain) {
  const std::string body(400'000, 'x');
  const RawServer server(
      [&](Connection& client, const std::string&) { return client.reply(kOk, body); });
  HttpOptions options = quick();
  options.budget = std::make_shared<BodyMemoryBudget>(500'000);
  options.timeout = milliseconds(300);  // does not count while it waits
  options.min_speed = 1'000'000;
  options.min_speed_time = milliseconds(100);
  BodyCharge elsewhere(options.budget);
  ASSERT_TRUE(elsewhere.grow(450'000));
  const auto client = client_of(options);
  HttpResponse got;
  client->start({.url = server.url("/"), .max_body = 1 << 20},
                [&](HttpResponse response) { got = std::move(response); });
  while (!options.budget->crowded())
    client->run(milliseconds(10));
  const auto paused = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - paused < milliseconds(500))
    client->run(milliseconds(10));
  EXPECT_EQ(client->active(), 1u);
  std::thread writer([&] { elsewhere.release(); });
  while (client->active() > 0)
    client->run(std::chrono::hours(1));
  writer.join();
  EXPECT_EQ(got.error, "");
  EXPECT_TRUE(got.body == body);
}

// Another try would end the same way.
TEST(HttpClientMemory, ABodyLargerThanAllMemoryIsTooLarge) {
  const std::string body(400'000, 'x');
  const std::string packed = gzip(body);
  const RawServer server([&](Connection& client, const std::string& target) {
    if (target == "/known") return client.reply(kOk, body);
    if (target == "/packed")
      return client.reply(std::string(kOk) + "Content-Encoding: gzip\r\n", packed);
    client.send(std::string(kOk) + "\r\n" + body);
    return false;
  });
  HttpOptions options = quick();
  options.budget = std::make_shared<BodyMemoryBudget>(100'000);
  for (const char* target : {"/known", "/unknown", "/packed"}) {
    const HttpResponse got = get(server.url(target), options);
    EXPECT_EQ(got.failure, FetchError::kBodyTooLarge) << target;
    EXPECT_THAT(got.error, HasSubstr("fetch.max_memory")) << target;
    EXPECT_EQ(got.body, "") << target;
    EXPECT_EQ(got.charge.bytes(), 0u) << target;
  }
  EXPECT_EQ(options.budget->used(), 0u);
}

// A window of 8 MiB for a body of a few bytes.
TEST(HttpClientMemory, ADecoderLargerThanAllMemoryIsTooLarge) {
  const std::string packed = zstd(std::string(100'000, 'x'), 23);
  const RawServer server([&](Connection& client, const std::string&) {
    return client.reply(std::string(kOk) + "Content-Encoding: zstd\r\n", packed);
  });
  HttpOptions options = quick();
  options.budget = std::make_shared<BodyMemoryBudget>(4 << 20);
  const HttpResponse got = get(server.url("/"), options);
  EXPECT_EQ(got.failure, FetchError::kBodyTooLarge);
  EXPECT_THAT(got.error, HasSubstr("fetch.max_memory"));
  EXPECT_EQ(got.charge.bytes(), 0u);
  EXPECT_EQ(options.budget->used(), 0u);
}

// So much a configuration has at least, for one page.
TEST(HttpClientMemory, TheLargestBodyAndTheLargestDecoderFitTogether) {
  constexpr std::uint64_t kMost = 18 << 20;  // more than brotli's largest window
  std::string body(1 << 20, '\0');
  std::minstd_rand random(7);
  for (char& byte : body)
    byte = static_cast<char>(random() >> 16);
  while (body.size() < kMost)
    body.append(body, 0, kMost - body.size());
  const std::string by_brotli = brotli(body, BROTLI_MAX_WINDOW_BITS);
  const std::string by_zstd = zstd(body, 23);
  const RawServer server([&](Connection& client, const std::string& target) {
    const bool is_zstd = target == "/zstd";
    return client.reply(
        std::string(kOk) + "Content-Encoding: " + (is_zstd ? "zstd" : "br") + "\r\n",
        is_zstd ? by_zstd : by_brotli);
  });
  HttpOptions options = quick();
  options.keep_encoded = true;
  for (const char* target : {"/br", "/zstd"}) {
    const std::uint64_t download = std::max(by_brotli.size(), by_zstd.size());
    options.budget = std::make_shared<BodyMemoryBudget>(kMost + download + kMostDecoderMemory);
    const HttpResponse got =
        fetch({.url = server.url(target), .max_body = kMost, .max_download = download}, options);
    EXPECT_EQ(got.error, "") << target;
    EXPECT_TRUE(got.body == body) << target;
  }
}

TEST(HttpClientMemory, ADecoderWaitsForRoomAsBodiesDo) {
  const std::string body(100'000, 'x');
  const std::string packed = zstd(body, 23);
  const RawServer server([&](Connection& client, const std::string&) {
    return client.reply(std::string(kOk) + "Content-Encoding: zstd\r\n", packed);
  });
  HttpOptions options = quick();
  options.budget = std::make_shared<BodyMemoryBudget>(12 << 20);
  BodyCharge elsewhere(options.budget);
  ASSERT_TRUE(elsewhere.grow(8 << 20));
  const auto client = client_of(options);
  HttpResponse got;
  client->start({.url = server.url("/"), .max_body = 1 << 20},
                [&](HttpResponse response) { got = std::move(response); });
  while (client->active() > 0 && !options.budget->crowded())
    client->run(milliseconds(10));
  EXPECT_EQ(client->active(), 1u);
  elsewhere.release();
  run_all(*client);
  EXPECT_EQ(got.error, "");
  EXPECT_TRUE(got.body == body);
  EXPECT_EQ(got.charge.bytes(), options.budget->used());
  EXPECT_LT(got.charge.bytes(), 1u << 20) << "the decoder's is given back";
}

TEST(HttpClientMemory, AClientMayGoWhileItsTransfersWait) {
  const RawServer server([&](Connection& client, const std::string&) {
    return client.reply(kOk, std::string(400'000, 'x'));
  });
  HttpOptions options = quick();
  options.budget = std::make_shared<BodyMemoryBudget>(500'000);
  BodyCharge elsewhere(options.budget);
  ASSERT_TRUE(elsewhere.grow(450'000));
  {
    const auto client = client_of(options);
    for (int i = 0; i < 3; ++i)
      client->start({.url = server.url("/"), .max_body = 1 << 20}, [](HttpResponse) {});
    while (!options.budget->crowded())
      client->run(milliseconds(10));
  }
  EXPECT_FALSE(options.budget->crowded());
  elsewhere.release();
  EXPECT_EQ(options.budget->used(), 0u);
}

}  // namespace
}  // namespace trawl
