#include "crawler/http/private_address.h"

#include <string>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

namespace trawl {
namespace {

// By socket address, as the resolver gives it.
bool is_private(const std::string& text) {
  sockaddr_storage storage{};
  auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
  if (::inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
  } else if (::inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
  } else {
    ADD_FAILURE() << text << " is no address";
  }
  return is_private_address(reinterpret_cast<const sockaddr*>(&storage));
}

bool is_v6(const std::string& text) {
  return text.find(':') != std::string::npos;
}

struct Range {
  const char* name;
  const char* before;  // the last public address before the block; null: there is none
  const char* first;
  const char* last;
  const char* after;  // the first public one after it
};

// The first and last addresses of each block of the registries in RFC 6890, and their neighbours.
constexpr Range kPrivate[] = {
    {"this network", nullptr, "0.0.0.0", "0.255.255.255", "1.0.0.0"},
    {"10/8", "9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"},
    {"carriers", "100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"},
    {"loopback", "126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"},
    {"link-local", "169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"},
    {"172.16/12", "172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"},
    {"192.168/16", "192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"},
    {"IPv6 unspecified and loopback", nullptr, "::", "::1", nullptr},
    {"IPv6 unique local", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
     "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe00::"},
    {"IPv6 link-local", "fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
     "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", nullptr},
};

template <class Judge>
void expect_exact(const Range& range, Judge judge) {
  SCOPED_TRACE(range.name);
  EXPECT_TRUE(judge(range.first)) << range.first;
  EXPECT_TRUE(judge(range.last)) << range.last;
  for (const char* outside : {range.before, range.after}) {
    if (outside != nullptr) {
      EXPECT_FALSE(judge(outside)) << outside;
    }
  }
}

TEST(PrivateAddress, BlocksAreExact) {
  for (const Range& range : kPrivate)
    expect_exact(range, is_private);
}

TEST(PrivateAddress, MappedIPv4IsJudgedByTheIPv4Address) {
  for (const Range& range : kPrivate) {
    if (is_v6(range.first)) continue;
    expect_exact(range, [](const std::string& v4) { return is_private("::ffff:" + v4); });
  }
}

TEST(PrivateAddress, PublicAddressesAreNone) {
  for (const char* address : {"1.1.1.1", "8.8.8.8", "93.184.216.34", "223.255.255.255",
                              "2606:4700:4700::1111", "2001:4860:4860::8888", "::ffff:8.8.8.8"}) {
    EXPECT_FALSE(is_private(address)) << address;
  }
}

TEST(PrivateAddress, OtherFamiliesAreNotThePublicInternet) {
  sockaddr_storage storage{};
  storage.ss_family = AF_UNIX;
  EXPECT_TRUE(is_private_address(reinterpret_cast<const sockaddr*>(&storage)));
}

TEST(PrivateHost, LiteralsAreJudgedAsAddresses) {
  for (const Range& range : kPrivate) {
    expect_exact(range, [](const std::string& text) {
      return is_private_host(is_v6(text) ? "[" + text + "]" : text);
    });
  }
  EXPECT_TRUE(is_private_host("[::ffff:127.0.0.1]"));
  EXPECT_TRUE(is_private_host("[::ffff:7f00:1]")) << "as Url serialises it";
  EXPECT_TRUE(is_private_host("127.0.0.1."));
}

TEST(PrivateHost, LocalhostAndNamesUnderIt) {
  for (const char* host : {"localhost", "localhost.", "app.localhost", "a.b.localhost."}) {
    EXPECT_TRUE(is_private_host(host)) << host;
  }
  for (const char* host :
       {"", ".", "localhost.example", "notlocalhost", "localhostx", "example.com", "10.0.0.example",
        "[", "[]", "]", "[localhost]", "[127.0.0.1]"}) {
    EXPECT_FALSE(is_private_host(host)) << host;
  }
}

}  // namespace
}  // namespace trawl
