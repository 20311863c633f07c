// HttpClient, when a host's name or a proxy's is not resolved: what a response says of it.
#include <atomic>
#include <chrono>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "dns_server.h"
#include "http_client_fixture.h"
#include "raw_server.h"
#include "socks_server.h"

namespace trawl {
namespace {

using test::client_of;
using test::Connection;
using test::DnsServer;
using test::fetch;
using test::kOk;
using test::RawServer;
using test::run_all;
using test::SocksServer;
using test::dns::Answer;
namespace dns = test::dns;

HttpOptions asking(const DnsServer& server) {
  HttpOptions options = test::quick();
  options.resolver.servers = {server.address()};
  options.resolver.hosts_file.clear();
  options.resolver.timeout = std::chrono::milliseconds(140);
  return options;
}

HttpResponse get_by(const Answer& answer, const std::string& proxy = {}) {
  DnsServer server([&](const std::string&, int) { return answer; });
  return fetch({.url = "http://host.test/", .max_body = 1 << 20, .proxy = proxy}, asking(server));
}

const Answer kFailures[] = {
    {.code = dns::kServFail},
    {.code = dns::kRefused},
    {.silent = true},
    {.change = [](const std::string& reply) { return std::vector{reply.substr(0, 15)}; }},
};
const Answer kDenials[] = {{.code = dns::kNxDomain}, {.code = dns::kNoError}};

TEST(HttpClientNames, WhetherAnotherRequestMayDoBetterIsTold) {
  for (const Answer& failure : kFailures) {
    const HttpResponse got = get_by(failure);
    EXPECT_EQ(got.failure, FetchError::kResolve) << got.error;
    EXPECT_TRUE(got.resolve_again) << got.error;
    EXPECT_FALSE(got.no_such_host) << got.error;
  }
  for (const Answer& denial : kDenials) {
    const HttpResponse got = get_by(denial);
    EXPECT_EQ(got.failure, FetchError::kResolve) << got.error;
    EXPECT_FALSE(got.resolve_again) << got.error;
    EXPECT_TRUE(got.no_such_host) << got.error;
  }
}

TEST(HttpClientNames, AProxysNameIsNotTheHosts) {
  for (const char* proxy : {"http://proxy.test:3128", "https://proxy.test:3128",
                            "socks5h://proxy.test:1080", "socks5://proxy.test:1080"}) {
    for (const Answer& failure : kFailures) {
      const HttpResponse got = get_by(failure, proxy);
      EXPECT_EQ(got.failure, FetchError::kProxy) << got.error;
      EXPECT_TRUE(got.resolve_again) << got.error;
    }
    const HttpResponse got = get_by(kDenials[0], proxy);
    EXPECT_EQ(got.failure, FetchError::kProxy) << got.error;
    EXPECT_FALSE(got.no_such_host) << got.error;
  }
}

TEST(HttpClientNames, AHostsNameForAProxyThatWantsAddressesIsTheHosts) {
  const SocksServer socks;
  for (const char* scheme : {"socks4", "socks5"}) {
    const HttpResponse failed = get_by(kFailures[0], socks.url(scheme));
    EXPECT_EQ(failed.failure, FetchError::kResolve) << failed.error;
    EXPECT_TRUE(failed.resolve_again);
    const HttpResponse denied = get_by(kDenials[0], socks.url(scheme));
    EXPECT_EQ(denied.failure, FetchError::kResolve) << denied.error;
    EXPECT_TRUE(denied.no_such_host);
  }
}

// One client, whose transfers are used again.
TEST(HttpClientNames, NothingOfItIsLeftForTheNextRequest) {
  const RawServer site(
      [](Connection& client, const std::string&) { return client.reply(kOk, "here"); });
  std::atomic<int> code = dns::kServFail;
  DnsServer server([&](const std::string&, int type) -> Answer {
    if (code != dns::kNoError || type != dns::kA) return {.code = code};
    return {.records = {dns::a("127.0.0.1", 0)}};
  });
  const auto client = client_of(asking(server));
  const auto get = [&] {
    HttpResponse got;
    client->start({.url = site.url("/", "host.test"), .max_body = 100},
                  [&](HttpResponse response) { got = std::move(response); });
    run_all(*client);
    return got;
  };
  EXPECT_TRUE(get().resolve_again);
  code = dns::kNxDomain;
  HttpResponse got;
  while (!got.no_such_host)
    got = get();
  EXPECT_FALSE(got.resolve_again);
  code = dns::kNoError;
  while (got.status != 200)
    got = get();
  EXPECT_FALSE(got.resolve_again);
  EXPECT_FALSE(got.no_such_host);
  EXPECT_EQ(got.body, "here");
}

}  // namespace
}  // namespace trawl
