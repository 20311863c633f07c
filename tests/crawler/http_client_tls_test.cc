// HttpClient over TLS: which certificates it trusts, and which sessions it resumes.
#include <csignal>
#include <filesystem>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "http_client_fixture.h"
#include "raw_server.h"
#include "tls_server.h"

namespace trawl {
namespace {

using test::client_of;
using test::Connection;
using test::get;
using test::Identity;
using test::quick;
using test::RawServer;
using test::run_all;
using test::TlsServer;

class HttpClientTls : public ::testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);  // the servers' clients go away in handshakes
    ca_.write(ca_file_);
  }
  void TearDown() override { std::filesystem::remove(ca_file_); }

  HttpOptions trusting() const {
    HttpOptions options = quick();
    options.ca_file = ca_file_;
    return options;
  }

  const Identity ca_ = Identity::make("Test CA", nullptr);
  const std::filesystem::path ca_file_ =
      std::filesystem::path(::testing::TempDir()) / ("ca-" + std::to_string(::getpid()) + ".pem");
};

TEST_F(HttpClientTls, TheCertificateHasToBeOfTheHostAndSignedByATrustedCa) {
  const Identity own = Identity::make("localhost", &ca_);
  const TlsServer server(own);
  const HttpResponse trusted = get(server.url("localhost"), trusting());
  EXPECT_EQ(trusted.error, "");
  EXPECT_EQ(trusted.body, "secure");

  EXPECT_EQ(get(server.url("localhost")).failure, FetchError::kTls) << "no system knows this CA";
  const HttpResponse elsewhere = get(server.url("a.localhost"), trusting());
  EXPECT_EQ(elsewhere.failure, FetchError::kTls) << "another host";
  EXPECT_EQ(elsewhere.status, 0);
  EXPECT_EQ(elsewhere.body, "");
}

TEST_F(HttpClientTls, AnExpiredOneIsAFailure) {
  const Identity old = Identity::make("localhost", &ca_, 1800);
  const TlsServer server(old);
  EXPECT_EQ(get(server.url("localhost"), trusting()).failure, FetchError::kTls);
}

TEST_F(HttpClientTls, VerificationCanBeTurnedOff) {
  const Identity self_signed = Identity::make("anything", nullptr);
  const TlsServer server(self_signed);
  HttpOptions options = quick();
  const HttpResponse refused = get(server.url("localhost"), options);
  EXPECT_EQ(refused.failure, FetchError::kTls);
  EXPECT_NE(refused.error.find("set fetch.ca_file"), std::string::npos) << refused.error;
  options.verify_tls = false;
  EXPECT_EQ(get(server.url("localhost"), options).body, "secure");
  EXPECT_EQ(get(server.url("127.0.0.1"), options).body, "secure");
}

// A busy server or a router may do this; unlike a bad certificate, it may be gone at the next try.
TEST_F(HttpClientTls, AHandshakeThatIsCutOffIsALostConnection) {
  static constexpr std::string_view kHalfARecord("\x16\x03\x03\x00\x7a\x02\x00", 7);
  for (const bool reset : {false, true}) {
    for (const std::string_view answer : {std::string_view(), kHalfARecord}) {
      const RawServer server([&](Connection& client, const std::string&) {
        client.send(answer);
        return reset && client.reset();
      });
      const HttpResponse got = get("https" + server.url("/").substr(4), trusting());
      EXPECT_EQ(got.failure, FetchError::kConnectionLost)
          << got.error << (reset ? ", reset after " : ", closed after ") << answer.size();
      EXPECT_FALSE(got.connection_was_stale);
    }
  }
}

TEST_F(HttpClientTls, AHandshakeThatTheServerRefusesIsAFailureOfTls) {
  for (const std::string_view answer :
       {std::string_view("\x15\x03\x03\x00\x02\x02\x28", 7),  // alert: handshake failure
        std::string_view("HTTP/1.1 400 This is not TLS\r\n\r\n")}) {
    for (const bool reset : {false, true}) {
      const RawServer server([&](Connection& client, const std::string&) {
        client.send(answer);
        if (!reset) return false;
        client.stall();  // until the client has read it and gone
        return client.reset();
      });
      const HttpResponse got = get("https" + server.url("/").substr(4), trusting());
      EXPECT_EQ(got.failure, FetchError::kTls) << got.error;
    }
  }
}

// For any handle, with and without cookies.
TEST_F(HttpClientTls, ConnectionsOfOneClientGoOnWithEarlierSessions) {
  constexpr int kRounds = 5;
  const Identity own = Identity::make("localhost", &ca_);
  TlsServer one(own);
  TlsServer other(own);
  for (const char* jar : {"", "jar"}) {
    const int before = one.resumed() + other.resumed();
    const auto client = client_of(trusting());
    for (int i = 0; i < kRounds; ++i) {
      for (const TlsServer* server : {&one, &other}) {
        client->start({.url = server->url("localhost"), .max_body = 100, .cookie_jar = jar},
                      [](const HttpResponse& got) { EXPECT_EQ(got.body, "secure") << got.error; });
      }
      run_all(*client);
    }
    EXPECT_EQ(one.resumed() + other.resumed() - before, 2 * (kRounds - 1)) << jar;
  }
  EXPECT_EQ(one.connections() + other.connections(), 4 * kRounds);
}

// libcurl keeps few sessions in one place.
TEST_F(HttpClientTls, SessionsOfManyHostsAreKept) {
  constexpr std::size_t kHosts = 256;
  const Identity own = Identity::make("localhost", &ca_);
  TlsServer server(own);
  HttpOptions options = trusting();
  options.verify_tls = false;
  const auto client = client_of(options);
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < kHosts; ++i) {
      client->start(
          {.url = server.url("host-" + std::to_string(i) + ".localhost"), .max_body = 100},
          [](const HttpResponse& got) { EXPECT_EQ(got.body, "secure") << got.error; });
      run_all(*client);
    }
  }
  EXPECT_EQ(server.resumed(), static_cast<int>(kHosts));
}

}  // namespace
}  // namespace trawl
