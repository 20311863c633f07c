#include "crawler/http/private_address.h"

#include <cstdint>
#include <cstdio>
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
    ADD_FAILURE() << text << " is not an address";
  }
  return is_private_address(reinterpret_cast<const sockaddr*>(&storage));
}

bool is_v6(const std::string& text) {
  return text.find(':') != std::string::npos;
}

// An IPv4 address as two groups of an IPv6 one.
std::string groups(const std::string& v4) {
  in_addr address{};
  EXPECT_EQ(::inet_pton(AF_INET, v4.c_str(), &address), 1) << v4;
  char text[16];
  const std::uint32_t value = ntohl(address.s_addr);
  std::snprintf(text, sizeof text, "%x:%x", value >> 16, value & 0xFFFF);
  return text;
}

std::string inverted(const std::string& v4) {
  in_addr address{};
  EXPECT_EQ(::inet_pton(AF_INET, v4.c_str(), &address), 1) << v4;
  address.s_addr = ~address.s_addr;
  char text[INET_ADDRSTRLEN];
  return ::inet_ntop(AF_INET, &address, text, sizeof text);
}

struct Range {
  const char* name;
  const char* before;  // the last public address before the block; null if there is none
  const char* first;
  const char* last;
  const char* after;  // the first public one after it
};

// The first and last addresses of each block of IANA's registries, and their neighbours. Blocks
// that touch are one here.
constexpr Range kPrivate[] = {
    {"this network", nullptr, "0.0.0.0", "0.255.255.255", "1.0.0.0"},
    {"10/8", "9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"},
    {"carriers", "100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"},
    {"loopback", "126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"},
    {"link-local", "169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"},
    {"a cloud's services", "168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17"},
    {"172.16/12", "172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"},
    {"protocol assignments", "191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"},
    {"documentation 1", "192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"},
    {"AS112 1", "192.31.195.255", "192.31.196.0", "192.31.196.255", "192.31.197.0"},
    {"AMT", "192.52.192.255", "192.52.193.0", "192.52.193.255", "192.52.194.0"},
    {"AS112 2", "192.175.47.255", "192.175.48.0", "192.175.48.255", "192.175.49.0"},
    {"relays of 6to4", "192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"},
    {"192.168/16", "192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"},
    {"benchmarking", "198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"},
    {"documentation 2", "198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"},
    {"documentation 3", "203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"},
    {"multicast, reserved, broadcast", "223.255.255.255", "224.0.0.0", "255.255.255.255", nullptr},
    {"IPv6 before NAT64's", nullptr, "::", "::fffe:ffff:ffff", nullptr},
    {"IPv6 NAT64 of one's own", nullptr, "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
     nullptr},
    {"IPv6 discarded", nullptr, "100::", "100::ffff:ffff:ffff:ffff", nullptr},
    {"IPv6 before global unicast", nullptr, "64:ff9b::1:0:0",
     "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::"},
    {"IPv6 protocol assignments", nullptr, "2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
     "2001:200::"},
    {"IPv6 benchmarking", nullptr, "2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", nullptr},
    {"IPv6 documentation 1", "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
     "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"},
    {"IPv6 AS112", "2620:4f:7fff:ffff:ffff:ffff:ffff:ffff",
     "2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", "2620:4f:8001::"},
    {"IPv6 documentation 2", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
     "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"},
    {"IPv6 after global unicast", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
     "4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", nullptr},
    {"IPv6 segment routing", nullptr, "5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", nullptr},
    {"IPv6 unique local", nullptr, "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", nullptr},
    {"IPv6 link-local", nullptr, "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", nullptr},
    {"IPv6 site-local", nullptr, "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", nullptr},
    {"IPv6 multicast", nullptr, "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", nullptr},
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

// `judge` of every IPv4 block.
template <class Judge>
void expect_exact_v4(Judge judge) {
  for (const Range& range : kPrivate) {
    if (!is_v6(range.first)) expect_exact(range, judge);
  }
}

TEST(PrivateAddress, BlocksAreExact) {
  for (const Range& range : kPrivate)
    expect_exact(range, is_private);
}

TEST(PrivateAddress, IPv6ThatStandsForIPv4IsJudgedByIt) {
  expect_exact_v4([](const std::string& v4) { return is_private("::ffff:" + v4); });
  expect_exact_v4([](const std::string& v4) { return is_private("64:ff9b::" + v4); });
  expect_exact_v4([](const std::string& v4) { return is_private("2002:" + groups(v4) + "::1"); });
  expect_exact_v4([](const std::string& v4) {
    return is_private("2001:0:" + groups(v4) + "::" + groups(inverted("8.8.8.8")));
  });
  expect_exact_v4([](const std::string& v4) {
    return is_private("2001:0:" + groups("8.8.8.8") + "::" + groups(inverted(v4)));
  });
}

TEST(PrivateAddress, IPv6ThatHidesIPv4InOtherWaysIsPrivate) {
  for (const char* address : {"::8.8.8.8", "::ffff:0:8.8.8.8", "64:ff9b:1::8.8.8.8"}) {
    EXPECT_TRUE(is_private(address)) << address;
  }
}

TEST(PrivateAddress, MetadataServicesAre) {
  for (const char* address :
       {"169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192", "168.63.129.16",
        "fd00:ec2::254", "fd20:ce::254", "fe80::a9fe:a9fe"}) {
    EXPECT_TRUE(is_private(address)) << address;
  }
}

TEST(PrivateAddress, PublicAddressesAreNone) {
  for (const char* address :
       {"1.1.1.1", "8.8.8.8", "93.184.216.34", "223.255.255.255", "192.31.197.1", "192.52.194.1",
        "192.175.49.1", "168.63.129.1", "2606:4700:4700::1111", "2001:4860:4860::8888",
        "2a00:1450:4001::1", "2400::1", "2620:4f:8001::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"}) {
    EXPECT_FALSE(is_private(address)) << address;
  }
}

TEST(PrivateAddress, OtherFamiliesAreNotThePublicInternet) {
  sockaddr_storage storage{};
  for (const int family : {AF_UNSPEC, AF_UNIX, AF_NETLINK}) {
    storage.ss_family = static_cast<sa_family_t>(family);
    EXPECT_TRUE(is_private_address(reinterpret_cast<const sockaddr*>(&storage)));
  }
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
