// HttpClient over proxies.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http_client_fixture.h"
#include "raw_server.h"
#include "socks_server.h"

namespace trawl {
namespace {

using test::client_of;
using test::Connection;
using test::DeafPort;
using test::fetch;
using test::kOk;
using test::quick;
using test::RawServer;
using test::run_all;
using test::SocksServer;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

HttpResponse get_over(const std::string& proxy, const std::string& url,
                      const HttpOptions& options = quick()) {
  return fetch({.url = url, .max_body = 1 << 20, .proxy = proxy}, options);
}

// Addresses of the Internet, to which no test may connect: they are only passed to a proxy.
constexpr char kElsewhere[] = "http://somewhere.example/page?q=1";

HttpOptions public_only() {
  HttpOptions options = quick();
  options.allow_private_addresses = false;
  return options;
}

TEST(HttpClientProxy, AnHttpProxyIsAskedForTheWholeUrl) {
  const RawServer proxy(
      [](Connection& client, const std::string&) { return client.reply(kOk, "by proxy"); });
  const HttpResponse got =
      get_over(proxy.url("", "user:pass@127.0.0.1"), kElsewhere, public_only());
  EXPECT_EQ(got.error, "");
  EXPECT_EQ(got.body, "by proxy");
  EXPECT_EQ(got.address, "") << "the proxy's is not the server's";
  ASSERT_EQ(proxy.requests().size(), 1u);
  EXPECT_THAT(proxy.requests()[0],
              AllOf(StartsWith("GET http://somewhere.example/page?q=1 HTTP/1.1\r\n"),
                    HasSubstr("\r\nHost: somewhere.example\r\n"),
                    HasSubstr("\r\nProxy-Authorization: Basic dXNlcjpwYXNz\r\n")));
}

TEST(HttpClientProxy, NothingOfAProxyIsLeftForTheNextRequest) {
  const auto answer = [](const char* body) {
    return [body](Connection& client, const std::string&) { return client.reply(kOk, body); };
  };
  const RawServer one(answer("one"));
  const RawServer other(answer("other"));
  const RawServer direct(answer("direct"));
  const auto client = client_of(quick());
  std::string bodies;
  for (const std::string& proxy :
       {one.url("", "u:p@127.0.0.1"), std::string(), other.url("", "127.0.0.1"),
        one.url("", "u:p@127.0.0.1"), std::string()}) {
    client->start({.url = direct.url("/"), .max_body = 100, .proxy = proxy},
                  [&](const HttpResponse& response) { bodies += response.body + ' '; });
    run_all(*client);
  }
  EXPECT_EQ(bodies, "one direct other one direct ");
  EXPECT_THAT(other.requests()[0], Not(HasSubstr("Proxy-Authorization")));
  for (const std::string& request : direct.requests())
    EXPECT_THAT(request, AllOf(StartsWith("GET / "), Not(HasSubstr("Proxy-Authorization"))));
}

TEST(HttpClientProxy, PlainlyPrivateTargetsAreRefusedBeforeTheProxyIsAsked) {
  const RawServer proxy(
      [](Connection& client, const std::string&) { return client.reply(kOk, "secret"); });
  const SocksServer socks;
  for (const std::string& over : {proxy.url("", "127.0.0.1"), socks.url("socks5h"),
                                  socks.url("socks4a"), socks.url("socks5")}) {
    for (const char* host : {"127.0.0.1", "localhost", "LOCALHOST.", "a.localhost", "10.1.2.3",
                             "[::1]", "0x7f.1", "169.254.169.254", "[::ffff:127.0.0.1]"}) {
      const HttpResponse got = get_over(over, "http://" + std::string(host) + "/", public_only());
      EXPECT_EQ(got.failure, FetchError::kAddressRefused) << over << ' ' << host << got.error;
      EXPECT_TRUE(got.address_refused);
      EXPECT_EQ(got.body, "");
    }
  }
  EXPECT_EQ(proxy.connections(), 0);
  EXPECT_TRUE(socks.asked().empty());
  EXPECT_EQ(get_over(proxy.url("", "127.0.0.1"), "http://10.1.2.3/").body, "secret")
      << "private ones are allowed here";
}

TEST(HttpClientProxy, ProxiesFailInTheirOwnName) {
  const DeafPort nobody;
  EXPECT_EQ(get_over("http://" + nobody.authority(), kElsewhere).failure, FetchError::kProxy);
  EXPECT_EQ(get_over("socks5h://" + nobody.authority(), kElsewhere).failure, FetchError::kProxy);
  EXPECT_EQ(get_over("http://no-such-proxy.invalid:80", kElsewhere).failure, FetchError::kProxy);
  EXPECT_EQ(get_over("carrier-pigeon://127.0.0.1", kElsewhere).failure, FetchError::kProxy);
  const RawServer refusing([](Connection& client, const std::string& target) {
    client.reply(target == "somewhere.example:443"
                     ? "HTTP/1.1 403 Forbidden\r\n"
                     : "HTTP/1.1 407 Who are you\r\nProxy-Authenticate: Basic realm=x\r\n",
                 "no");
    return false;
  });
  const std::string proxy = refusing.url("", "127.0.0.1");
  EXPECT_EQ(get_over(proxy, kElsewhere).failure, FetchError::kProxy);
  EXPECT_EQ(get_over(proxy, "https://somewhere.example/").failure, FetchError::kProxy);
  EXPECT_EQ(get_over(proxy, "https://other.example/").failure, FetchError::kProxy);
  const RawServer noise([](Connection& client, const std::string&) {
    client.send("what?\r\n\r\n");
    return false;
  });
  EXPECT_EQ(get_over(noise.url("", "127.0.0.1"), "https://somewhere.example/").failure,
            FetchError::kProxy);
  std::string tls = noise.url("", "127.0.0.1");
  tls.insert(4, "s");
  EXPECT_EQ(get_over(tls, kElsewhere).failure, FetchError::kProxy);
}

TEST(HttpClientProxy, SocksProxiesLookNamesUpWhereTheirSchemeSays) {
  const SocksServer socks;
  for (const char* scheme : {"socks4a", "socks5h"}) {
    const HttpResponse got = get_over(socks.url(scheme), kElsewhere, public_only());
    EXPECT_EQ(got.error, "") << scheme;
    EXPECT_EQ(got.body, "socks") << scheme;
  }
  for (const char* scheme : {"socks4", "socks5"}) {
    const HttpResponse got = get_over(socks.url(scheme), "http://localhost:8080/");
    EXPECT_EQ(got.error, "") << scheme;
    EXPECT_EQ(got.body, "socks") << scheme;
    EXPECT_EQ(get_over(socks.url(scheme), "http://no-such-name.invalid/").failure,
              FetchError::kResolve);
  }
  EXPECT_THAT(socks.asked(), ElementsAre("4 somewhere.example:80", "5 somewhere.example:80",
                                         "4 127.0.0.1:8080", "5 127.0.0.1:8080"));
}

TEST(HttpClientProxy, SocksProxiesMayAskForAPassword) {
  const SocksServer socks("secret");
  EXPECT_EQ(get_over(socks.url("socks5h", "user:secret@"), kElsewhere).body, "socks");
  EXPECT_EQ(get_over(socks.url("socks5h", "user:wrong!@"), kElsewhere).failure, FetchError::kProxy);
}

// libcurl quotes a proxy that it does not understand.
TEST(HttpClientProxy, NoFailureTellsThePassword) {
  const DeafPort nobody;
  for (const char* scheme : {"http", "https", "socks4", "socks4a", "socks5", "socks5h"}) {
    for (const char* credentials :
         {"user:s3cret@", "user:p@s3cret@", "user:s3cret%00@", "user:s3cret%1f@", "s3cret@"}) {
      for (const char* url : {kElsewhere, "https://somewhere.example/", "http://10.1.2.3/"}) {
        const HttpResponse got =
            get_over(std::string(scheme) + "://" + credentials + nobody.authority(), url);
        EXPECT_THAT(got.failure, AnyOf(FetchError::kProxy, FetchError::kResolve))
            << scheme << credentials << got.error;
        EXPECT_THAT(got.error, Not(AnyOf(HasSubstr("s3cret"), HasSubstr("user:"))))
            << scheme << credentials;
      }
    }
  }
  for (const char* host : {"s*r", "a,b", "[::1", "x y", "a%b"}) {
    const HttpResponse got =
        get_over(std::string("http://user:s3cret@") + host + ":9/", kElsewhere);
    EXPECT_EQ(got.failure, FetchError::kProxy) << host << got.error;
    EXPECT_THAT(got.error, Not(HasSubstr("s3cret"))) << host;
  }
}

// No text of a proxy makes libcurl bypass it.
TEST(HttpClientProxy, AProxyThatIsNotUnderstoodIsNotLeftOut) {
  const RawServer direct(
      [](Connection& client, const std::string&) { return client.reply(kOk, "around"); });
  for (const char* proxy : {"http://user:a%00b@127.0.0.1:9", "http://us%01er@127.0.0.1:9",
                            "http://u:p@x@127.0.0.1:9", "socks5h://user:a%0Ab@127.0.0.1:9"}) {
    EXPECT_EQ(get_over(proxy, direct.url("/")).failure, FetchError::kProxy) << proxy;
  }
  EXPECT_EQ(direct.connections(), 0);
}

}  // namespace
}  // namespace trawl
