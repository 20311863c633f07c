// What the Resolver makes of a resolv.conf and a hosts file that change while it works.
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/http/hosts_file.h"
#include "crawler/http/resolver.h"
#include "tests/crawler/dns_server.h"
#include "tests/crawler/resolver_loop.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::DnsServer;
using test::ResolverLoop;
using test::silence;
using test::dns::Answer;
using testing::ElementsAre;
namespace dns = test::dns;
using Clock = std::chrono::steady_clock;

Answer old_address(const std::string&, int type) {
  if (type != dns::kA) return {};
  return {.records = {dns::a("192.0.2.1")}};
}
Answer new_address(const std::string&, int type) {
  if (type != dns::kA) return {};
  return {.records = {dns::a("192.0.2.2")}};
}

class ResolverChanges : public testing::Test {
 protected:
  ResolverOptions options(const DnsServer& server) const {
    ResolverOptions options;
    options.hosts_file.clear();
    options.resolv_conf = path_;
    options.resolv_conf_port = server.port();
    options.timeout = milliseconds(140);
    return options;
  }
  // All at one port, since a resolv.conf names none.
  static DnsServer beside(const DnsServer& server, DnsServer::Handler handler) {
    return {std::move(handler), "127.0.0.2", server.port()};
  }
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  void replace(const std::string& text) const {
    const auto other = directory_.path() / "other";
    std::ofstream(other) << text;
    std::filesystem::rename(other, path_);
  }
  // Asks for one name after the other until the answer is `address`.
  void expect_in_the_end(ResolverLoop& loop, const std::string& address) {
    loop.run_until([&] {
      const Resolution found = loop.get("host" + std::to_string(++names_) + ".test");
      return !found.addresses.empty() && found.addresses.front() == address;
    });
  }

  const test::TemporaryDirectory directory_;
  const std::filesystem::path path_ = directory_.path() / "resolv.conf";
  int names_ = 0;
};

TEST_F(ResolverChanges, OtherServersAreAskedHoweverTheFileIsChanged) {
  DnsServer one(old_address);
  DnsServer two = beside(one, new_address);
  const std::string old_text = "nameserver 127.0.0.1\n";
  const std::string new_text = "search example.com\noptions ndots:3\nnameserver 127.0.0.2\n";
  write(old_text);
  ResolverLoop loop(options(one));
  EXPECT_THAT(loop.get("host.test").addresses, ElementsAre("192.0.2.1"));
  write(new_text);
  expect_in_the_end(loop, "192.0.2.2");
  replace(old_text);
  expect_in_the_end(loop, "192.0.2.1");
  // Of one size and time, as tools that copy files with their times make it.
  const auto time = std::filesystem::last_write_time(path_);
  const auto twin = directory_.path() / "twin";
  std::ofstream(twin) << "nameserver 127.0.0.2\n";
  std::filesystem::last_write_time(twin, time);
  std::filesystem::rename(twin, path_);
  expect_in_the_end(loop, "192.0.2.2");
  // A link that is turned elsewhere.
  const auto elsewhere = directory_.path() / "elsewhere";
  std::ofstream(elsewhere) << old_text;
  std::filesystem::remove(path_);
  std::filesystem::create_symlink(elsewhere, path_);
  expect_in_the_end(loop, "192.0.2.1");
  for (const auto& query : two.queries())
    EXPECT_FALSE(query.name.ends_with("example.com")) << query.name;
}

TEST_F(ResolverChanges, AFileThatIsNotThereOrHasNoServerIsTroubleThatPasses) {
  DnsServer server = {new_address, "127.0.0.2", 0};  // 127.0.0.1, the default, is not served
  ResolverLoop loop(options(server));
  const Resolution missing = loop.get("host.test");
  EXPECT_TRUE(missing.temporary) << missing.error;
  EXPECT_FALSE(missing.no_such_host);
  write("nameserver 127.0.0.2\n");
  expect_in_the_end(loop, "192.0.2.2");
  for (const char* text : {"", "# nameserver 127.0.0.2\n", "nameserver\n", "nameserver dns.test\n",
                           "\xFF\xFE\n\n options timeout:x ndots:999999999999\n"}) {
    write(text);
    const Resolution found = ResolverLoop(options(server)).get("host.test");
    EXPECT_THAT(found.addresses, ElementsAre());
    EXPECT_TRUE(found.temporary) << text << found.error;
    EXPECT_FALSE(found.no_such_host);
  }
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_TRUE(ResolverLoop(options(server)).get("host.test").temporary);
  std::filesystem::remove(path_);
  write("nameserver 127.0.0.2\n");
  expect_in_the_end(loop, "192.0.2.2");
}

// The new servers are queried for what the old ones left unanswered, long before it times out.
TEST_F(ResolverChanges, LookupsUnderWayGoOnWithTheNewServers) {
  DnsServer one(silence);
  DnsServer two = beside(one, new_address);
  write("nameserver 127.0.0.1\n");
  auto settings = options(one);
  settings.timeout = std::chrono::minutes(10);
  settings.max_lookups = 2;
  ResolverLoop loop(settings);
  int found = 0;
  for (int i = 0; i < 5; ++i) {
    loop.resolver().resolve("host" + std::to_string(i) + ".test", [&](const Resolution& answer) {
      EXPECT_THAT(answer.addresses, ElementsAre("192.0.2.2")) << answer.error;
      ++found;
    });
  }
  one.wait_for_sent();
  EXPECT_EQ(one.names().size(), 2u);
  replace("nameserver 127.0.0.2\n");
  loop.run();
  EXPECT_EQ(found, 5);
  EXPECT_EQ(two.names().size(), 5u);
}

TEST_F(ResolverChanges, WhatTheOldServersDidNotFindIsAskedForAgain) {
  DnsServer one([](const std::string&, int) -> Answer { return {.code = dns::kNxDomain}; });
  DnsServer two = beside(one, new_address);
  write("nameserver 127.0.0.1\n");
  auto settings = options(one);
  settings.denial_sure_after = milliseconds(0);
  settings.negative_age = std::chrono::hours(24);
  ResolverLoop loop(settings);
  EXPECT_GT(loop.get("host.test").expires, Clock::now() + seconds(60));
  write("nameserver 127.0.0.2\n");
  loop.run_until([&] { return !loop.get("host.test").addresses.empty(); });
}

TEST_F(ResolverChanges, GivenServersStay) {
  DnsServer one(old_address);
  DnsServer two = beside(one, new_address);
  write("nameserver 127.0.0.2\n");
  auto settings = options(one);
  settings.servers = {one.address()};
  ResolverLoop loop(settings);
  loop.get("host.test");
  replace("nameserver 127.0.0.2\n# again\n");
  const auto end = Clock::now() + FileWatch::kPeriod + milliseconds(200);
  loop.run_until([&] {
    EXPECT_THAT(loop.get("host" + std::to_string(++names_) + ".test").addresses,
                ElementsAre("192.0.2.1"));
    return Clock::now() > end;
  });
  EXPECT_THAT(two.queries(), ElementsAre());
}

TEST_F(ResolverChanges, NothingIsCalledAfterDestructionThoughServersChanged) {
  DnsServer one(silence);
  DnsServer two = beside(one, silence);
  write("nameserver 127.0.0.1\n");
  auto settings = options(one);
  settings.timeout = std::chrono::minutes(10);
  ResolverLoop loop(settings);
  int called = 0;
  loop.resolver().resolve("host.test", [&](const Resolution&) { ++called; });
  replace("nameserver 127.0.0.2\n");
  loop.run_until([&] { return !two.names().empty(); });
  loop.destroy();
  EXPECT_EQ(called, 0);
}

TEST(HostsFileChanges, AreSeenThoughSizeAndTimeAreTheSame) {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "hosts";
  std::ofstream(path) << "192.0.2.1 one.test\n";
  HostsFile file(path);
  const auto now = Clock::now();
  ASSERT_NE(file.find("one.test", now), nullptr);
  const auto other = directory.path() / "other";
  std::ofstream(other) << "192.0.2.2 one.test\n";
  std::filesystem::last_write_time(other, std::filesystem::last_write_time(path));
  std::filesystem::rename(other, path);
  const auto* const found = file.find("one.test", now + seconds(2));
  ASSERT_NE(found, nullptr);
  EXPECT_THAT(*found, ElementsAre("192.0.2.2"));
}

}  // namespace
}  // namespace trawl
