#include "crawler/http/resolver.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "crawler/http/address_list.h"
#include "crawler/http/hosts_file.h"
#include "tests/crawler/dns_server.h"
#include "tests/crawler/resolver_loop.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::DnsServer;
using test::one_address;
using test::options_for;
using test::ResolverLoop;
using test::silence;
using test::dns::Answer;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using Clock = std::chrono::steady_clock;
namespace dns = test::dns;

TEST(Resolver, FindsTheAddressesOfBothFamilies) {
  DnsServer server([](const std::string&, int type) -> Answer {
    if (type == dns::kAaaa) return {.records = {dns::aaaa("2001:db8::7"), dns::aaaa("::7")}};
    return {.records = {dns::a("192.0.2.7"), dns::a("192.0.2.8"), dns::a("192.0.2.7")}};
  });
  ResolverLoop loop(options_for(server));
  const Resolution found = loop.get("www.host.test");
  EXPECT_THAT(found.addresses,
              UnorderedElementsAre("192.0.2.7", "192.0.2.8", "2001:db8::7", "::7"));
  EXPECT_EQ(found.error, "");
  EXPECT_FALSE(found.temporary);
  EXPECT_EQ(server.names(), std::set<std::string>{"www.host.test"});
}

TEST(Resolver, OneFamilyIsAskedForIfOneIsWanted) {
  for (const IpVersion version : {IpVersion::kV4, IpVersion::kV6}) {
    const bool v4 = version == IpVersion::kV4;
    DnsServer server([](const std::string&, int type) -> Answer {
      return {.records = {type == dns::kA ? dns::a("192.0.2.7") : dns::aaaa("2001:db8::7")}};
    });
    auto options = options_for(server);
    options.ip_version = version;
    ResolverLoop loop(options);
    EXPECT_THAT(loop.get("host.test").addresses, ElementsAre(v4 ? "192.0.2.7" : "2001:db8::7"));
    EXPECT_THAT(server.queries(),
                ElementsAre(DnsServer::Query{"host.test", v4 ? dns::kA : dns::kAaaa}));
    EXPECT_THAT(loop.get("localhost").addresses, ElementsAre(v4 ? "127.0.0.1" : "::1"));
    EXPECT_THAT(loop.get(v4 ? "127.0.0.1" : "[::1]").addresses,
                ElementsAre(v4 ? "127.0.0.1" : "::1"));
    EXPECT_THAT(loop.get(v4 ? "[::1]" : "127.0.0.1").error, HasSubstr("no address"));
  }
}

TEST(Resolver, WhatNeedsNoServerIsAnsweredAtOnce) {
  DnsServer server(one_address);
  ResolverLoop loop(options_for(server));
  const std::pair<const char*, std::vector<std::string>> known[] = {
      {"192.0.2.1", {"192.0.2.1"}},         {"[2001:db8::1]", {"2001:db8::1"}},
      {"2001:db8::1", {"2001:db8::1"}},     {"localhost", {"127.0.0.1", "::1"}},
      {"localhost.", {"127.0.0.1", "::1"}}, {"app.localhost", {"127.0.0.1", "::1"}},
  };
  for (const auto& [host, addresses] : known) {
    bool called = false;
    loop.resolver().resolve(host,
                            [&, host = host, &addresses = addresses](const Resolution& found) {
                              called = true;
                              EXPECT_EQ(found.addresses, addresses) << host;
                              EXPECT_GT(found.expires, Clock::now());
                            });
    EXPECT_TRUE(called) << host;
  }
  server.wait_for_sent();
  EXPECT_THAT(server.queries(), ElementsAre());
}

TEST(Resolver, CachedAnswersComeAtOnceUnderAnySpelling) {
  DnsServer server(one_address);
  ResolverLoop loop(options_for(server));
  loop.get("host.test");
  const auto asked = server.queries().size();
  for (const char* host : {"host.test", "host.test."}) {
    bool called = false;
    loop.resolver().resolve(host, [&](const Resolution& found) {
      called = true;
      EXPECT_THAT(found.addresses, ElementsAre("192.0.2.7"));
    });
    EXPECT_TRUE(called) << host;
  }
  server.wait_for_sent();
  EXPECT_EQ(server.queries().size(), asked);
  EXPECT_EQ(loop.resolver().cached(), 1u);
}

TEST(Resolver, WhatExpiredIsAskedForAgain) {
  DnsServer server([](const std::string&, int) -> Answer { return {.code = dns::kNxDomain}; });
  auto options = options_for(server);
  options.negative_age = milliseconds(1);
  ResolverLoop loop(options);
  const Resolution first = loop.get("host.test");
  const auto asked = server.queries().size();
  loop.run_until([&] { return Clock::now() >= first.expires; });
  loop.get("host.test");
  EXPECT_EQ(server.queries().size(), 2 * asked);
  EXPECT_EQ(loop.resolver().cached(), 1u);
}

TEST(Resolver, OneHostAtOnceIsOneLookup) {
  DnsServer server(one_address);
  ResolverLoop loop(options_for(server));
  int called = 0;
  for (const char* host : {"host.test", "host.test.", "host.test"}) {
    loop.resolver().resolve(host, [&](const Resolution& found) {
      ++called;
      EXPECT_THAT(found.addresses, ElementsAre("192.0.2.7"));
    });
  }
  EXPECT_EQ(loop.resolver().pending(), 1u);
  EXPECT_EQ(called, 0);
  loop.run();
  EXPECT_EQ(called, 3);
  EXPECT_THAT(server.queries(), UnorderedElementsAre(DnsServer::Query{"host.test", dns::kA},
                                                     DnsServer::Query{"host.test", dns::kAaaa}));
}

std::ptrdiff_t threads_of_process() {
  using Directory = std::filesystem::directory_iterator;
  return std::distance(Directory("/proc/self/task"), Directory());
}

TEST(Resolver, ManyLookupsTakeNoThread) {
  constexpr int kHosts = 300;
  DnsServer server([](const std::string& name, int type) -> Answer {
    if (type != dns::kA) return {};
    return {.records = {dns::a("192.0.2." + name.substr(0, name.find('.')))}};
  });
  auto options = options_for(server);
  options.timeout = seconds(20);
  const auto threads = threads_of_process();
  ResolverLoop loop(options);
  int called = 0;
  for (int i = 0; i < kHosts; ++i) {
    const std::string number = std::to_string(i % 250);
    const std::string host = number + ".number" + std::to_string(i) + ".test";
    loop.resolver().resolve(host, [&, number](const Resolution& found) {
      ++called;
      EXPECT_THAT(found.addresses, ElementsAre("192.0.2." + number)) << found.error;
    });
  }
  EXPECT_EQ(loop.resolver().pending(), static_cast<std::size_t>(kHosts));
  std::ptrdiff_t most_threads = threads_of_process();
  loop.run_until([&] {
    most_threads = std::max(most_threads, threads_of_process());
    return loop.resolver().pending() == 0;
  });
  EXPECT_EQ(called, kHosts);
  EXPECT_EQ(most_threads, threads);
}

TEST(Resolver, MoreThanTheBoundWait) {
  std::atomic<bool> answers = false;
  DnsServer server([&](const std::string& name, int type) {
    return answers.load() ? one_address(name, type) : silence(name, type);
  });
  auto options = options_for(server);
  options.max_lookups = 2;
  options.timeout = seconds(2);
  ResolverLoop loop(options);
  int called = 0;
  for (const char* host : {"a.test", "b.test", "c.test", "d.test", "e.test"})
    loop.resolver().resolve(host, [&](const Resolution&) { ++called; });
  server.wait_for_sent();
  EXPECT_THAT(server.names(), ElementsAre("a.test", "b.test"));
  EXPECT_EQ(loop.resolver().pending(), 5u);
  answers.store(true);  // from the next try on
  loop.run();
  EXPECT_EQ(called, 5);
  EXPECT_EQ(server.names().size(), 5u);
}

TEST(Resolver, TheLeastRecentlyUsedIsForgotten) {
  DnsServer server(one_address);
  auto options = options_for(server);
  options.max_entries = 2;
  ResolverLoop loop(options);
  const auto is_asked_for = [&](const char* host) {
    const auto before = server.queries().size();
    loop.get(host);
    server.wait_for_sent();
    return server.queries().size() > before;
  };
  EXPECT_TRUE(is_asked_for("a.test"));
  EXPECT_TRUE(is_asked_for("b.test"));
  EXPECT_FALSE(is_asked_for("a.test"));
  EXPECT_TRUE(is_asked_for("c.test"));  // instead of b
  EXPECT_FALSE(is_asked_for("a.test"));
  EXPECT_TRUE(is_asked_for("b.test"));
  EXPECT_EQ(loop.resolver().cached(), 2u);
}

TEST(Resolver, TheHostsFileCountsBeforeServers) {
  const auto path =
      std::filesystem::path(testing::TempDir()) / ("hosts-" + std::to_string(::getpid()));
  std::ofstream(path) << "# names\n"
                         "192.0.2.1\tone.test  One-More.test. # comment.test\n"
                         "2001:db8::1 one.test\n"
                         "nonsense broken.test\n"
                         "192.0.2.3\n"
                         "\n";
  DnsServer server(one_address);
  auto options = options_for(server);
  options.hosts_file = path;
  ResolverLoop loop(options);
  EXPECT_THAT(loop.get("one.test").addresses, ElementsAre("192.0.2.1", "2001:db8::1"));
  EXPECT_THAT(loop.get("one-more.test.").addresses, ElementsAre("192.0.2.1"));
  server.wait_for_sent();
  EXPECT_THAT(server.queries(), ElementsAre());
  EXPECT_THAT(loop.get("broken.test").addresses, ElementsAre("192.0.2.7")) << "of the server";
  EXPECT_THAT(loop.get("comment.test").addresses, ElementsAre("192.0.2.7"));
  std::filesystem::remove(path);
}

TEST(HostsFile, IsReadAgainWhenItChanged) {
  const auto path =
      std::filesystem::path(testing::TempDir()) / ("changed-hosts-" + std::to_string(::getpid()));
  HostsFile file(path);
  auto now = Clock::now();
  EXPECT_EQ(file.find("one.test", now), nullptr);
  std::ofstream(path) << "192.0.2.1 one.test\n";
  EXPECT_EQ(file.find("one.test", now), nullptr) << "not looked at again at once";
  now += seconds(2);
  ASSERT_NE(file.find("one.test", now), nullptr);
  EXPECT_THAT(*file.find("one.test", now), ElementsAre("192.0.2.1"));
  std::filesystem::remove(path);
  EXPECT_EQ(file.find("one.test", now + seconds(2)), nullptr);
}

TEST(AddressList, FamiliesTakeTurnsIfIPv6Works) {
  AddressList list(IpVersion::kAny, 5);
  for (const char* address : {"192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.3", "2001:db8::1",
                              "2001:db8::2", "192.0.2.4"}) {
    EXPECT_TRUE(list.add(std::string(address)));
  }
  EXPECT_FALSE(list.add("192.0.2"));
  EXPECT_THAT(list.ordered(true),
              ElementsAre("2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2", "192.0.2.3"));
  EXPECT_THAT(list.ordered(false),
              ElementsAre("192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "2001:db8::1"));
}

// A search list that the environment or resolv.conf has is not for the names of URLs.
TEST(Resolver, NamesAreComplete) {
  DnsServer server([](const std::string&, int) -> Answer { return {.code = dns::kNxDomain}; });
  ::setenv("LOCALDOMAIN", "search.test", 1);
  ResolverLoop loop(options_for(server));
  ::unsetenv("LOCALDOMAIN");
  loop.get("wiki");
  loop.get("a.b");
  EXPECT_EQ(server.names(), (std::set<std::string>{"wiki", "a.b"}));
}

TEST(Resolver, NamesThatCannotBeFailWithoutAServer) {
  DnsServer server(one_address);
  ResolverLoop loop(options_for(server));
  std::string many_labels;
  for (int i = 0; i < 150; ++i)
    many_labels += "a.";
  for (const std::string& host :
       {std::string(), std::string("."), std::string("a..b"), std::string(64, 'a') + ".test",
        many_labels + many_labels + "test"}) {
    const Resolution found = loop.get(host);
    EXPECT_THAT(found.addresses, ElementsAre()) << host;
    EXPECT_NE(found.error, "") << host;
    EXPECT_FALSE(found.temporary) << host;
  }
  server.wait_for_sent();
  EXPECT_THAT(server.queries(), ElementsAre());
}

TEST(Resolver, CallbacksMayResolve) {
  DnsServer server(one_address);
  ResolverLoop loop(options_for(server));
  std::vector<std::string> order;
  loop.resolver().resolve("a.test", [&](const Resolution&) {
    order.emplace_back("a");
    loop.resolver().resolve("a.test", [&](const Resolution&) { order.emplace_back("a again"); });
    loop.resolver().resolve(std::string(70, 'x'),
                            [&](const Resolution&) { order.emplace_back("impossible"); });
    loop.resolver().resolve("b.test", [&](const Resolution&) { order.emplace_back("b"); });
  });
  loop.run();
  EXPECT_THAT(order, ElementsAre("a", "a again", "impossible", "b"));
}

TEST(Resolver, NothingIsCalledAfterDestruction) {
  DnsServer server(silence);
  auto options = options_for(server);
  options.max_lookups = 2;
  ResolverLoop loop(options);
  int called = 0;
  for (const char* host : {"a.test", "b.test", "c.test"})
    loop.resolver().resolve(host, [&](const Resolution&) { ++called; });
  loop.destroy();
  EXPECT_EQ(called, 0);
}

TEST(Resolver, ServersAreChecked) {
  for (const char* bad : {"", "dns.test", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536",
                          "127.0.0.1:53x", "[::1", "[::1]53", "[127.0.0.1]:53", "::1:x", "1.2.3"}) {
    ResolverOptions options;
    options.servers = {"127.0.0.1", bad};
    const auto created = Resolver::create(options, [](int, bool, bool) {});
    ASSERT_FALSE(created) << bad;
    EXPECT_EQ(created.error().code, ErrorCode::kInvalidArgument) << bad;
  }
  ResolverOptions options;
  options.servers = {"127.0.0.1", "127.0.0.1:5353", "::1", "[::1]", "[::1]:5353"};
  EXPECT_TRUE(Resolver::create(options, [](int, bool, bool) {}));
  EXPECT_TRUE(Resolver::create(ResolverOptions{}, [](int, bool, bool) {})) << "the system's";
}

}  // namespace
}  // namespace trawl
