// HttpClient and servers that send without pause what is part of no response.
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "crawler/http/flood_guard.h"
#include "http_client_fixture.h"
#include "loopback_listener.h"
#include "raw_server.h"
#include "tls_server.h"

namespace trawl {
namespace {

using test::client_of;
using test::Connection;
using test::Identity;
using test::kOk;
using test::quick;
using test::RawServer;
using test::run_all;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

enum Kind : char { kData = 0, kHeaders = 1, kSettings = 4 };
constexpr char kEndStream = 1;
constexpr char kEndHeaders = 4;

std::string frame(Kind kind, char flags, char stream, std::string_view payload = {}) {
  std::string bytes(9, '\0');
  bytes[1] = static_cast<char>(payload.size() >> 8);
  bytes[2] = static_cast<char>(payload.size());
  bytes[3] = kind;
  bytes[4] = flags;
  bytes[8] = stream;
  return bytes.append(payload);
}

const std::string kHead = frame(kHeaders, kEndHeaders, 1, "\x88");  // ":status: 200"

// Speaks HTTP/2 on loopback, to one client at a time: sends each of `records` on its own, and then
// `flood`, if it is not empty, until the client is gone.
class Http2Server {
 public:
  Http2Server(std::vector<std::string> records, std::string flood)
      : records_(std::move(records)),
        flood_(std::move(flood)),
        identity_(Identity::make("localhost", nullptr)),
        context_(SSL_CTX_new(TLS_server_method())) {
    SSL_CTX_use_certificate(context_, identity_.certificate.get());
    SSL_CTX_use_PrivateKey(context_, identity_.key.get());
    SSL_CTX_set_alpn_select_cb(context_, &Http2Server::choose, nullptr);
    listener_.emplace([this](int socket) { serve(socket); });
  }
  Http2Server(const Http2Server&) = delete;
  Http2Server& operator=(const Http2Server&) = delete;
  ~Http2Server() {
    listener_.reset();
    SSL_CTX_free(context_);
  }
  std::string url() const { return "https://localhost:" + listener_->port() + "/"; }

 private:
  static int choose(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char*,
                    unsigned, void*) {
    *chosen = reinterpret_cast<const unsigned char*>("h2");
    *size = 2;
    return SSL_TLSEXT_ERR_OK;
  }

  void serve(int socket) const {
    SSL* const tls = SSL_new(context_);
    SSL_set_fd(tls, socket);
    if (SSL_accept(tls) == 1 && send(tls, frame(kSettings, 0, 0)) && await_request(tls)) talk(tls);
    SSL_free(tls);
  }

  void talk(SSL* tls) const {
    for (const std::string& record : records_) {
      if (!send(tls, record)) return;
    }
    while (!flood_.empty() && send(tls, flood_)) {
    }
    char ignored[256];
    while (SSL_read(tls, ignored, sizeof ignored) > 0) {
    }
  }

  static bool send(SSL* tls, const std::string& bytes) {
    return SSL_write(tls, bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  static bool receive(SSL* tls, std::size_t size, std::string& into) {
    into.clear();
    char byte;
    while (into.size() < size) {
      if (SSL_read(tls, &byte, 1) != 1) return false;
      into += byte;
    }
    return true;
  }
  static bool await_request(SSL* tls) {
    std::string bytes;
    if (!receive(tls, 24, bytes)) return false;  // the preface
    while (receive(tls, 9, bytes)) {
      if (bytes[3] == kHeaders) return true;
      const std::size_t size =
          static_cast<unsigned char>(bytes[1]) * 256u + static_cast<unsigned char>(bytes[2]);
      if (!receive(tls, size, bytes)) return false;
    }
    return false;
  }

  const std::vector<std::string> records_;
  const std::string flood_;
  const Identity identity_;
  SSL_CTX* const context_;
  std::optional<test::LoopbackListener> listener_;
};

class HttpClientFloods : public ::testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);  // the server's client goes away
    options_.verify_tls = false;
  }

  HttpResponse get(const std::string& url) const { return test::get(url, options_); }

  HttpOptions options_ = quick();
};

std::string empty_frames() {
  std::string frames;
  for (int i = 0; i < 1800; ++i)
    frames += frame(kData, 0, 1);
  return frames;
}

TEST_F(HttpClientFloods, EmptyFramesEndTheTransferThatTheyAreFor) {
  const Http2Server server({kHead}, empty_frames());
  for (const bool capture : {false, true}) {
    options_.capture = capture;
    const HttpResponse response = get(server.url());
    EXPECT_EQ(response.failure, FetchError::kBadResponse);
    EXPECT_THAT(response.error, HasSubstr("endless data"));
    EXPECT_FALSE(response.connection_was_stale);
  }
}

TEST_F(HttpClientFloods, TheOtherTransfersGoOn) {
  const Http2Server flooding({kHead}, empty_frames());
  const RawServer good([](Connection& c, const std::string&) { return c.reply(kOk, "fine"); });
  const Http2Server good_too({kHead, frame(kData, kEndStream, 1, "fine, too")}, "");
  const auto client = client_of(options_);
  std::vector<std::string> bodies(2);
  std::optional<FetchError> flooded;
  client->start({.url = flooding.url(), .max_body = 100},
                [&](HttpResponse response) { flooded = response.failure; });
  client->start({.url = good.url("/"), .max_body = 100},
                [&](HttpResponse response) { bodies[0] = response.body; });
  client->start({.url = good_too.url(), .max_body = 100},
                [&](HttpResponse response) { bodies[1] = response.body; });
  run_all(*client);
  EXPECT_EQ(flooded, FetchError::kBadResponse);
  EXPECT_THAT(bodies, ElementsAre("fine", "fine, too"));
}

TEST_F(HttpClientFloods, ManySmallPiecesOfABodyAreNone) {
  std::vector<std::string> records{kHead};
  for (int i = 0; i < 20'000; ++i)
    records.push_back(frame(kData, 0, 1, "b"));
  records.push_back(frame(kData, kEndStream, 1));
  const Http2Server server(records, "");
  const HttpResponse response = get(server.url());
  EXPECT_EQ(response.error, "");
  EXPECT_EQ(response.body, std::string(20'000, 'b'));
}

TEST(FloodGuard, CountsTheRecordsOfAConnectionInACall) {
  std::vector<const void*> flooded;
  FloodGuard guard([&](const void* tls) { flooded.push_back(tls); });
  const int a = 0;
  const int b = 0;
  const auto add = [&](const int& tls, std::uint32_t records) {
    bool one_too_many = false;
    for (std::uint32_t i = 0; i < records; ++i)
      one_too_many = guard.add_record(&tls);
    return one_too_many;
  };
  guard.begin_call();
  EXPECT_FALSE(add(a, FloodGuard::kMostRecords));
  EXPECT_FALSE(add(b, FloodGuard::kMostRecords));
  EXPECT_THAT(flooded, ElementsAre());
  EXPECT_TRUE(add(a, 1));
  EXPECT_THAT(flooded, ElementsAre(&a));
  guard.add_piece();
  EXPECT_FALSE(add(b, FloodGuard::kMostRecordsPerPiece));
  EXPECT_TRUE(add(b, 1));
  guard.begin_call();
  EXPECT_FALSE(add(b, FloodGuard::kMostRecords));
  EXPECT_TRUE(add(b, 1));
}

}  // namespace
}  // namespace trawl
