// HttpClient with several transfers, consecutive and concurrent.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/http/easy_handle.h"
#include "http_client_fixture.h"
#include "raw_server.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using test::client_of;
using test::Connection;
using test::kOk;
using test::quick;
using test::RawServer;
using test::run_all;
using ::testing::HasSubstr;

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

TEST(HttpClient, ARequestLeavesBeforeAnyLookAtAnswers) {
  const RawServer server([](Connection& client, const std::string& target) {
    return client.reply(kOk, "body of " + target);
  });
  const auto client = client_of(quick());
  client->start({.url = server.url("/1"), .max_body = 1000}, [](const HttpResponse&) {});
  run_all(*client);
  std::string body;
  client->start({.url = server.url("/2"), .max_body = 1000},
                [&](const HttpResponse& response) { body = response.body; });
  client->send();
  while (server.requests().size() < 2)
    std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(body, "") << "done is called from run() only";
  run_all(*client);
  EXPECT_EQ(body, "body of /2");
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
  for (const HttpRequest& request : {HttpRequest{.url = server.url("/big"), .max_body = 10},
                                     HttpRequest{.url = server.url("/moved"), .max_body = 10},
                                     HttpRequest{.url = server.url("/plain"), .max_body = 10}}) {
    client->start(request, [&](HttpResponse response) { got.push_back(std::move(response)); });
    run_all(*client);
  }
  ASSERT_EQ(got.size(), 3u);
  EXPECT_THAT(got[0].error, HasSubstr("larger than 10 bytes"));
  EXPECT_EQ(got[1].status, 302);
  EXPECT_EQ(got[1].location, "/plain");
  EXPECT_EQ(got[2].status, 204);
  EXPECT_EQ(got[2].error, "");
  EXPECT_EQ(got[2].content_type, "");
  EXPECT_EQ(got[2].location, "");
}

// Or two requests would follow each other without the host's delay.
// libcurl before 8.1.1 joins it to the last header of the response before, which it has freed.
TEST(HttpClient, AFoldedFirstHeaderIsJoinedToNoEarlierResponse) {
  const RawServer server([](Connection& client, const std::string& target) {
    if (target == "/good") return client.reply(kOk, "good");
    return client.send("HTTP/1.1 200 OK\r\n\tX: y\r\nContent-Length: 1\r\n\r\nx");
  });
  const auto client = client_of(quick());
  for (int i = 0; i < 100; ++i) {
    for (const char* target : {"/good", "/folded", "/folded"}) {
      client->start(
          {.url = server.url(target), .max_body = 1000},
          [&, good = target == std::string("/good")](const HttpResponse& response) {
            EXPECT_EQ(response.failure, good ? std::nullopt : std::optional(FetchError::kBadHeader))
                << response.error;
            EXPECT_EQ(response.body, good ? "good" : "");
          });
      if (i % 2 == 0) run_all(*client);
    }
    run_all(*client);
  }
  EXPECT_TRUE(EasyHandle::needs_headers_ahead(0x075801));
  EXPECT_TRUE(EasyHandle::needs_headers_ahead(0x080100));
  EXPECT_FALSE(EasyHandle::needs_headers_ahead(0x080101));
}

// Else the rest of one response would pass for the next.
TEST(HttpClient, AConnectionOnWhichMoreCameIsNotUsedAgain) {
  std::atomic<bool> sent{false};
  const RawServer server([&](Connection& client, const std::string& target) {
    if (target == "/good") return client.reply(kOk, "good");
    client.reply(kOk, "bad");
    std::this_thread::sleep_for(milliseconds(20));  // so that it comes after that was read
    sent = client.reply(kOk, "never asked for");
    return true;
  });
  const auto client = client_of(quick());
  for (int i = 0; i < 3; ++i) {
    sent = false;
    client->start({.url = server.url("/bad"), .max_body = 1000},
                  [](const HttpResponse& got) { EXPECT_EQ(got.body, "bad") << got.error; });
    run_all(*client);
    while (!sent)
      std::this_thread::yield();
    client->start({.url = server.url("/good"), .max_body = 1000}, [](const HttpResponse& got) {
      EXPECT_EQ(got.error, "");
      EXPECT_EQ(got.body, "good");
    });
    run_all(*client);
  }
  EXPECT_EQ(server.connections(), 4);
  EXPECT_EQ(server.requests().size(), 6u) << "nothing is requested twice";
}

// The oldest ones are not closed for each new one: libcurl would remember each server without end.
TEST(HttpClient, WithTooManyConnectionsNewOnesAreNotKeptUntilUnusedOnesAreClosed) {
  const auto answer = [](Connection& client, const std::string&) { return client.reply(kOk, "x"); };
  std::vector<std::unique_ptr<RawServer>> servers;
  for (int i = 0; i < 12; ++i)
    servers.push_back(std::make_unique<RawServer>(answer));
  HttpOptions options = quick();
  options.connections = 8;
  const auto client = client_of(options);
  const auto connections_after_request_to = [&](const RawServer& server) {
    client->start({.url = server.url("/"), .max_body = 10}, [](HttpResponse) {});
    run_all(*client);
    return server.connections();
  };
  for (const auto& server : servers)
    EXPECT_EQ(connections_after_request_to(*server), 1);
  EXPECT_EQ(connections_after_request_to(*servers.front()), 1) << "it was kept";
  int connections = connections_after_request_to(*servers.back());
  EXPECT_EQ(connections, 2) << "it was not";
  while (connections_after_request_to(*servers.back()) > connections) {
    ++connections;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_GT(connections_after_request_to(*servers[1]), 1) << "it was unused for longest";
}

TEST(HttpClient, ARequestIsNotSentAgainWhereAKeptAliveConnectionWasClosed) {
  const RawServer server([](Connection& client, const std::string& target) {
    return target != "/end" && client.reply(kOk, "x");
  });
  const auto client = client_of(quick());
  HttpResponse last;
  const auto request = [&](const std::string& target) {
    client->start({.url = server.url(target), .max_body = 10},
                  [&](HttpResponse response) { last = std::move(response); });
    run_all(*client);
  };
  request("/");
  EXPECT_FALSE(last.connection_was_stale);
  request("/end");
  EXPECT_TRUE(last.connection_was_stale);
  EXPECT_EQ(server.requests().size(), 2u);
  request("/end");
  EXPECT_FALSE(last.connection_was_stale) << "it was a new one";
  EXPECT_NE(last.error, "");
}

// Or it would be requested without end where the server does so each time.
TEST(HttpClient, AUrlIsCutOffOnKeptAliveConnectionsOnlyOnceInARow) {
  std::atomic<bool> cuts{true};
  const RawServer server([&](Connection& client, const std::string& target) {
    return !(cuts.load() && target.starts_with("/cut")) && client.reply(kOk, "x");
  });
  const auto client = client_of(quick());
  HttpResponse last;
  const auto request = [&](const std::string& target) {
    client->start({.url = server.url(target), .max_body = 10},
                  [&](HttpResponse response) { last = std::move(response); });
    run_all(*client);
  };
  const auto request_on_reused = [&](const std::string& target) {
    request("/");
    EXPECT_EQ(last.error, "");
    request(target);
  };
  request_on_reused("/cut");
  EXPECT_TRUE(last.connection_was_stale);
  request_on_reused("/cut-other");
  EXPECT_TRUE(last.connection_was_stale) << "another URL";
  for (int i = 0; i < 3; ++i) {
    request_on_reused("/cut");
    EXPECT_FALSE(last.connection_was_stale);
    EXPECT_EQ(last.failure, FetchError::kConnectionLost);
    EXPECT_NE(last.error, "");
  }
  cuts = false;
  request_on_reused("/cut");
  EXPECT_EQ(last.error, "");
  cuts = true;
  request_on_reused("/cut");
  EXPECT_TRUE(last.connection_was_stale) << "it was whole meanwhile";

  // As many are remembered, and no more.
  for (int i = 0; i < 256; ++i) {
    request_on_reused("/cut-" + std::to_string(i));
    EXPECT_TRUE(last.connection_was_stale) << i << ": " << last.error;
  }
  request_on_reused("/cut-0");
  EXPECT_FALSE(last.connection_was_stale);
  request_on_reused("/cut");
  EXPECT_TRUE(last.connection_was_stale) << "forgotten";
}

// The resolver needs no server for a name that cannot be: its answer is there before run() waits.
TEST(HttpClient, AnAnswerThatIsThereIsNotWaitedFor) {
  const auto client = client_of(quick());
  HttpResponse last;
  client->start({.url = "http://" + std::string(64, 'a') + ".test/", .max_body = 10},
                [&](HttpResponse response) { last = std::move(response); });
  while (client->active() > 0)
    client->run(std::chrono::hours(1));
  EXPECT_EQ(last.failure, FetchError::kResolve);
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
