#include "crawler/http/connection_addresses.h"

#include <array>
#include <chrono>
#include <initializer_list>
#include <string>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

namespace trawl {
namespace {

using std::chrono::seconds;

curl_sockaddr wanted(int family) {
  curl_sockaddr address{};
  address.family = family;
  address.addr.sa_family = static_cast<sa_family_t>(family);
  return address;
}

// What is tried next for a socket of the family; empty if nothing is.
std::string next_of(ConnectionAddresses& addresses, int family) {
  // curl_sockaddr has room for an IPv4 address only; libcurl's own has more behind it.
  struct {
    curl_sockaddr address;
    std::array<char, sizeof(sockaddr_storage)> more;
  } asked{wanted(family), {}};
  if (!addresses.take_next(asked.address)) return {};
  const sockaddr* const to = &asked.address.addr;
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = &reinterpret_cast<const sockaddr_in*>(to)->sin_addr;
  if (family == AF_INET6) bytes = &reinterpret_cast<const sockaddr_in6*>(to)->sin6_addr;
  EXPECT_NE(::inet_ntop(family, bytes, text.data(), text.size()), nullptr);
  EXPECT_EQ(addresses.tried(), text.data());
  return text.data();
}

ConnectionAddresses addresses_of(std::initializer_list<const char*> texts,
                                 bool allow_private = false) {
  ConnectionAddresses addresses(allow_private);
  for (const char* const text : texts)
    addresses.add(text);
  return addresses;
}

TEST(ConnectionAddresses, EachIsTriedOnceInOrder) {
  ConnectionAddresses addresses = addresses_of({"9.9.9.9", "8.8.8.8", "2620:fe::fe"});
  ASSERT_NE(addresses.untried(), nullptr);
  EXPECT_EQ(*addresses.untried(), "9.9.9.9");
  EXPECT_EQ(next_of(addresses, AF_INET), "9.9.9.9");
  EXPECT_EQ(next_of(addresses, AF_INET), "8.8.8.8");
  EXPECT_EQ(next_of(addresses, AF_INET), "");
  EXPECT_EQ(next_of(addresses, AF_INET6), "2620:fe::fe");
  EXPECT_EQ(addresses.untried(), nullptr);
  addresses.clear();
  EXPECT_TRUE(addresses.empty());
  EXPECT_EQ(addresses.tried(), "");
}

TEST(ConnectionAddresses, IPv6WaitsForIPv4ThatComesFirst) {
  ConnectionAddresses addresses = addresses_of({"9.9.9.9", "2620:fe::fe"});
  EXPECT_EQ(addresses.family(), AF_INET);
  EXPECT_EQ(next_of(addresses, AF_INET6), "");
  EXPECT_EQ(next_of(addresses, AF_INET), "9.9.9.9");
  EXPECT_EQ(next_of(addresses, AF_INET6), "2620:fe::fe");
  ConnectionAddresses others = addresses_of({"2620:fe::fe", "9.9.9.9"});
  EXPECT_EQ(next_of(others, AF_INET6), "2620:fe::fe");
}

TEST(ConnectionAddresses, PrivateOnesAreRefusedUnlessAllowed) {
  ConnectionAddresses addresses = addresses_of({"127.0.0.1", "9.9.9.9", "10.0.0.1"});
  EXPECT_EQ(addresses.first_allowed(), "9.9.9.9");
  EXPECT_EQ(next_of(addresses, AF_INET), "9.9.9.9");
  EXPECT_FALSE(addresses.refused()) << "another one could be used";
  EXPECT_EQ(next_of(addresses, AF_INET), "");
  EXPECT_TRUE(addresses.refused());
  EXPECT_EQ(addresses.tried(), "9.9.9.9");
  ConnectionAddresses only = addresses_of({"::1"});
  EXPECT_EQ(only.first_allowed(), "");
  EXPECT_EQ(next_of(only, AF_INET6), "");
  EXPECT_TRUE(only.refused());
  ConnectionAddresses allowed = addresses_of({"127.0.0.1"}, true);
  EXPECT_EQ(allowed.first_allowed(), "127.0.0.1");
  EXPECT_EQ(next_of(allowed, AF_INET), "127.0.0.1");
  EXPECT_FALSE(allowed.refused());
}

TEST(ConnectionAddresses, TheOneOfAKeptConnectionComesFirst) {
  ConnectionAddresses addresses = addresses_of({"9.9.9.9", "8.8.8.8", "1.1.1.1"});
  EXPECT_TRUE(addresses.prefer("1.1.1.1"));
  EXPECT_FALSE(addresses.prefer("4.4.4.4"));
  EXPECT_EQ(next_of(addresses, AF_INET), "1.1.1.1");
  EXPECT_EQ(next_of(addresses, AF_INET), "9.9.9.9");
}

TEST(ConnectionAddresses, TheyShareTheTimeToConnect) {
  ConnectionAddresses two = addresses_of({"9.9.9.9", "8.8.8.8"});
  EXPECT_EQ(two.share_of(seconds(8)), seconds(0));
  next_of(two, AF_INET);
  EXPECT_EQ(two.share_of(seconds(8)), seconds(4));
  ConnectionAddresses six =
      addresses_of({"1.0.0.1", "1.0.0.2", "1.0.0.3", "1.0.0.4", "1.0.0.5", "1.0.0.6"});
  next_of(six, AF_INET);
  EXPECT_EQ(six.share_of(seconds(8)), seconds(2)) << "a quarter at least";
}

}  // namespace
}  // namespace trawl
