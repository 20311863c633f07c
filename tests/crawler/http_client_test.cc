#include "crawler/http/http_client.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include "raw_server.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using test::Connection;
using test::RawServer;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A port on which nobody listens, and nobody can begin to while this lives.
class DeafPort {
 public:
  DeafPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      std::abort();
    }
    port_ = ntohs(address.sin_port);
  }
  ~DeafPort() { ::close(socket_); }
  std::string authority() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  int socket_;
  std::uint16_t port_ = 0;
};

HttpOptions quick() {
  return {.user_agent = "testbot/1.0 (+http://bot.example/)",
          .timeout = milliseconds(60'000),
          .connections = 8,
          .allow_private_addresses = true,
          .ca_file = {}};
}
HttpOptions impatient() {
  HttpOptions options = quick();
  options.timeout = milliseconds(200);
  return options;
}

std::unique_ptr<HttpClient> client_of(const HttpOptions& options) {
  auto client = HttpClient::create(options);
  if (!client) {
    ADD_FAILURE() << client.error().message;
    std::abort();
  }
  return std::move(*client);
}

void run_all(HttpClient& client) {
  while (client.active() > 0)
    client.run(milliseconds(1000));
}

HttpResponse fetch(const HttpRequest& request, const HttpOptions& options = quick()) {
  const auto client = client_of(options);
  HttpResponse got;
  int calls = 0;
  client->start(request, [&](HttpResponse response) {
    got = std::move(response);
    ++calls;
  });
  EXPECT_EQ(calls, 0) << "done is called from run() only";
  run_all(*client);
  EXPECT_EQ(calls, 1);
  return got;
}
HttpResponse get(const std::string& url, const HttpOptions& options = quick()) {
  return fetch(HttpRequest{.url = url, .max_body = 1 << 20}, options);
}

std::string gzip(const std::string& bytes) {
  z_stream stream{};
  ::deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(::deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  return packed;
}

const char* const kOk = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";

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
  EXPECT_EQ(missing.error, "") << "an answer is no failure";
  EXPECT_EQ(missing.body, "");
  EXPECT_EQ(missing.content_type, "");
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
    EXPECT_EQ(refused.error,
              "the host's address is private; set fetch.allow_private_addresses = true to allow it")
        << host;
  }
  EXPECT_EQ(server.connections(), 0);
  EXPECT_EQ(get(server.url("/", "localhost")).body, "secret");
}

TEST(HttpClient, FollowsRedirectsOnlyWhenAsked) {
  const RawServer server([](Connection& client, const std::string& target) {
    const auto to = [&](const std::string& next) {
      return client.reply("HTTP/1.1 302 Found\r\nLocation: " + next + "\r\n", "on to " + next);
    };
    if (target == "/1") return to("/2");
    if (target == "/2") return to("/3");
    if (target == "/loop") return to("/loop");
    if (target == "/to-a-file") return to("file:///etc/passwd");
    return client.reply(kOk, "the end");
  });
  const HttpResponse first = get(server.url("/1"));
  EXPECT_EQ(first.status, 302);
  EXPECT_EQ(first.location, "/2");
  EXPECT_EQ(server.requests().size(), 1u);

  const auto follow = [&](const char* target, std::uint32_t redirects) {
    return fetch({.url = server.url(target), .max_body = 1000, .follow_redirects = redirects});
  };
  const HttpResponse last = follow("/1", 2);
  EXPECT_EQ(last.status, 200);
  EXPECT_EQ(last.error, "");
  EXPECT_EQ(last.body, "the end") << "of the last response alone";
  EXPECT_EQ(last.location, "");

  // A chain that is not followed to its end ends in a redirect.
  for (const HttpResponse& cut : {follow("/1", 1), follow("/loop", 5)}) {
    EXPECT_EQ(cut.error, "");
    EXPECT_EQ(cut.status / 100, 3);
  }
  EXPECT_THAT(follow("/to-a-file", 5).error, HasSubstr("rotocol"));
}

TEST(HttpClient, ConnectionsAreKeptAlive) {
  constexpr int kTransfers = 500;
  constexpr int kAtOnce = 8;
  const RawServer server([](Connection& client, const std::string& target) {
    return client.reply(kOk, "body of " + target);
  });
  const auto client = client_of(quick());
  std::map<std::string, int> bodies;
  int started = 0;
  std::function<void()> start_next = [&] {
    if (started == kTransfers) return;
    client->start({.url = server.url("/" + std::to_string(started++)), .max_body = 1000},
                  [&](HttpResponse response) {
                    EXPECT_EQ(response.error, "");
                    ++bodies[response.body];
                    start_next();
                  });
  };
  for (int i = 0; i < kAtOnce; ++i)
    start_next();
  EXPECT_EQ(client->active(), static_cast<std::size_t>(kAtOnce));
  run_all(*client);
  EXPECT_EQ(bodies.size(), static_cast<std::size_t>(kTransfers));
  EXPECT_LE(server.connections(), kAtOnce);
}

TEST(HttpClient, ManyTransfersAtOnceEachEndOnce) {
  constexpr int kTransfers = 200;
  const RawServer server([](Connection& client, const std::string& target) {
    return client.reply(kOk, "body of " + target);
  });
  const auto client = client_of(quick());
  std::map<std::string, int> bodies;
  for (int i = 0; i < kTransfers; ++i) {
    client->start({.url = server.url("/" + std::to_string(i)), .max_body = 1000},
                  [&](const HttpResponse& response) { ++bodies[response.body]; });
  }
  run_all(*client);
  ASSERT_EQ(bodies.size(), static_cast<std::size_t>(kTransfers));
  for (const auto& [body, times] : bodies)
    EXPECT_EQ(times, 1) << body;
}

// A handle is used again after a transfer: nothing of the one before may be left on it.
TEST(HttpClient, ATransferLeavesNothingToTheNext) {
  const RawServer server([](Connection& client, const std::string& target) {
    if (target == "/big") return client.reply(kOk, std::string(5000, 'x'));
    if (target == "/moved") {
      return client.reply("HTTP/1.1 302 Found\r\nLocation: /plain\r\n", "moved");
    }
    return client.reply("HTTP/1.1 204 No Content\r\n", "");
  });
  const auto client = client_of(quick());
  std::vector<HttpResponse> got;
  for (const HttpRequest& request :
       {HttpRequest{.url = server.url("/big"), .max_body = 10},
        HttpRequest{.url = server.url("/moved"), .max_body = 10, .follow_redirects = 3},
        HttpRequest{.url = server.url("/moved"), .max_body = 10},
        HttpRequest{.url = server.url("/plain"), .max_body = 10}}) {
    client->start(request, [&](HttpResponse response) { got.push_back(std::move(response)); });
    run_all(*client);
  }
  ASSERT_EQ(got.size(), 4u);
  EXPECT_THAT(got[0].error, HasSubstr("larger than 10 bytes"));
  EXPECT_EQ(got[1].status, 204);
  EXPECT_EQ(got[2].status, 302);
  EXPECT_EQ(got[2].location, "/plain");
  EXPECT_EQ(got[3].status, 204);
  EXPECT_EQ(got[3].error, "");
  EXPECT_EQ(got[3].content_type, "");
  EXPECT_EQ(got[3].location, "");
}

// Each run() would wait long; only the wake of its turn ends it.
TEST(HttpClient, WakeEndsARunFromAnotherThread) {
  constexpr int kTurns = 300;
  const auto client = client_of(quick());
  std::atomic<int> turns{0};
  std::thread waker([&] {
    for (int turn = 0; turn < kTurns; ++turn) {
      client->wake();
      while (turns.load() <= turn)
        std::this_thread::yield();
    }
  });
  while (turns.load() < kTurns) {
    client->run(std::chrono::hours(1));
    turns.fetch_add(1);
  }
  waker.join();
  EXPECT_EQ(client->active(), 0u);
}

TEST(HttpClient, WakeFromManyThreadsWhileTransfersRun) {
  const RawServer server(
      [](Connection& client, const std::string&) { return client.reply(kOk, "x"); });
  const auto client = client_of(quick());
  std::atomic<bool> over{false};
  std::vector<std::thread> wakers;
  for (int i = 0; i < 3; ++i) {
    wakers.emplace_back([&] {
      while (!over.load())
        client->wake();
    });
  }
  int ended = 0;
  for (int i = 0; i < 50; ++i) {
    client->start({.url = server.url("/"), .max_body = 10}, [&](const HttpResponse& response) {
      EXPECT_EQ(response.error, "");
      ++ended;
    });
  }
  run_all(*client);
  over = true;
  for (auto& waker : wakers)
    waker.join();
  EXPECT_EQ(ended, 50);
}

TEST(HttpClient, CanBeDestroyedWithTransfersInFlight) {
  std::atomic<int> arrived{0};
  const RawServer server([&](Connection& client, const std::string& target) {
    if (target == "/body") client.send(std::string(kOk) + "Content-Length: 1000\r\n\r\nhalf");
    if (target == "/kept-alive") return client.reply(kOk, "x");
    arrived.fetch_add(1);
    return client.stall();
  });
  int ended = 0;
  const auto start = [&](HttpClient& client, const std::string& url) {
    client.start({.url = url, .max_body = 1000}, [&](const HttpResponse&) { ++ended; });
  };
  {
    const auto never_run = client_of(quick());
    start(*never_run, server.url("/never"));
    start(*never_run, "http://localhost:1/");  // a name to be resolved
  }
  EXPECT_EQ(ended, 0);
  {
    const auto busy = client_of(quick());
    start(*busy, server.url("/kept-alive"));
    run_all(*busy);
    EXPECT_EQ(ended, 1);
    for (int i = 0; i < 20; ++i)
      start(*busy, server.url(i % 2 == 0 ? "/headers" : "/body"));
    while (arrived.load() < 20)
      busy->run(milliseconds(10));
    busy->run(milliseconds(10));
    EXPECT_EQ(busy->active(), 20u);
  }
  EXPECT_EQ(ended, 1) << "what is dropped is not reported";
}

}  // namespace
}  // namespace trawl
