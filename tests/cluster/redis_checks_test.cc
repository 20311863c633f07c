// Checks of the configuration of real servers.
#include "frontier/shared/redis_checks.h"

#include <array>
#include <ctime>
#include <thread>

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frontier/redis/reply_reader.h"
#include "tests/cluster/redis_servers.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using test::has_redis;
using test::RedisServer;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<RedisChecks> check(const RedisServer& server, const RedisCheckOptions& options = {},
                          const std::string& username = {}) {
  auto client = RedisClient::connect({.addresses = {server.address()},
                                      .username = username,
                                      .password = username.empty() ? "" : "word"});
  if (!client) return tl::unexpected(client.error());
  return check_redis(**client, options);
}
Error refusal(const RedisServer& server, const RedisCheckOptions& options = {}) {
  auto found = check(server, options);
  EXPECT_FALSE(found.has_value());
  return found ? Error{ErrorCode::kIo, ""} : found.error();
}

constexpr SharedDurability kAsync = SharedDurability::kAsync, kSynced = SharedDurability::kSynced;

TEST(RedisChecks, WhatWouldLoseTheCrawlIsRefused) {
  SKIP_WITHOUT_REDIS();
  const RedisServer server;
  EXPECT_EQ(refusal(server).code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refusal(server).message,
              AllOf(HasSubstr(server.address().text()), HasSubstr("appendonly yes"),
                    HasSubstr("cluster.durability = \"async\"")));
  EXPECT_TRUE(check(server, {.durability = kAsync}).has_value()) << "asked for by name";
  server.cli({"config", "set", "appendonly", "yes"});
  EXPECT_TRUE(check(server).has_value());
  for (const char* policy : {"allkeys-lru", "volatile-ttl"}) {
    server.cli({"config", "set", "maxmemory-policy", policy});
    EXPECT_THAT(refusal(server).message,
                AllOf(HasSubstr(policy), HasSubstr("maxmemory-policy noeviction")));
    EXPECT_FALSE(check(server, {.durability = kAsync}).has_value());
  }
}

TEST(RedisChecks, ASingleServerIsAWarningThatSaysWhatItsLossWouldCost) {
  SKIP_WITHOUT_REDIS();
  const RedisServer server({"--appendonly", "yes"});
  const auto found = check(server);
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_THAT(found->warnings,
              ElementsAre(AllOf(HasSubstr(server.address().text()), HasSubstr("no replica"),
                                HasSubstr("if its disk is lost so are its URLs"))));
  EXPECT_FALSE(found->syncs_always);
  EXPECT_FALSE(check(server, {.durability = kSynced})->syncs_always);
  server.cli({"config", "set", "appendfsync", "always"});
  EXPECT_TRUE(check(server, {.durability = kSynced})->syncs_always);
  RedisServer replica({"--replicaof", "127.0.0.1 " + server.port()});
  while (server.cli({"info", "replication"}).find("state=online") == std::string::npos)
    std::this_thread::sleep_for(milliseconds(20));
  EXPECT_THAT(check(server)->warnings, IsEmpty());
}

TEST(RedisChecks, WhatTheUserMayNotAskIsAWarning) {
  SKIP_WITHOUT_REDIS();
  const RedisServer server({"--cluster-enabled", "yes"});
  server.cli({"cluster", "addslotsrange", "0", "16383"});
  server.cli({"acl", "setuser", "crawler", "on", ">word", "~*", "+@all", "-config", "-info"});
  const auto found = check(server, {}, "crawler");
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_THAT(found->warnings,
              ElementsAre(AllOf(HasSubstr("append-only file"), HasSubstr("could not be checked"),
                                HasSubstr("NOPERM"), HasSubstr("+info")),
                          AllOf(HasSubstr("cluster-node-timeout"), HasSubstr("+config|get")),
                          HasSubstr("cluster-require-full-coverage"), HasSubstr("no replica")));
}

// Answers as a server of any version would; old ones cannot be installed here.
class ServerOfVersion {
 public:
  explicit ServerOfVersion(std::string version, std::int64_t clock_ahead = 0)
      : version_(std::move(version)), clock_ahead_(clock_ahead) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_, 1);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~ServerOfVersion() {
    thread_.join();
    ::close(listener_);
  }
  RedisAddress address() const { return {.host = "127.0.0.1", .port = port_}; }

 private:
  // One client, until it goes.
  void serve() {
    const int client = ::accept(listener_, nullptr, nullptr);
    ReplyReader commands;  // which have the form of replies
    std::array<char, 4096> bytes;
    for (ssize_t n; (n = ::read(client, bytes.data(), bytes.size())) > 0;) {
      commands.feed({bytes.data(), static_cast<std::size_t>(n)});
      for (auto command = commands.next(); command && *command; command = commands.next()) {
        const std::string answer = answer_to((*command)->elements[0].text);
        [[maybe_unused]] const ssize_t sent = ::write(client, answer.data(), answer.size());
      }
    }
    ::close(client);
  }
  std::string answer_to(const std::string& command) const {
    if (command == "PING") return "+PONG\r\n";
    if (command == "ROLE") return "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n";
    if (command == "TIME") {
      const std::string seconds = std::to_string(std::time(nullptr) + clock_ahead_);
      return "*2\r\n$" + std::to_string(seconds.size()) + "\r\n" + seconds + "\r\n$1\r\n5\r\n";
    }
    if (command != "INFO") return "-ERR This instance has cluster support disabled\r\n";
    const std::string info = "# Server\r\nredis_version:" + version_ +
                             "\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n";
    return "$" + std::to_string(info.size()) + "\r\n" + info + "\r\n";
  }

  std::string version_;
  std::int64_t clock_ahead_;  // in seconds
  int listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
  std::uint16_t port_ = 0;
  std::thread thread_;
};

TEST(RedisChecks, ServersThatAreTooOldAreRefused) {
  const auto check_version = [](const std::string& version) {
    const ServerOfVersion server(version);
    auto client = RedisClient::connect({.addresses = {server.address()}});
    EXPECT_TRUE(client.has_value()) << client.error().message;
    return check_redis(**client, {});
  };
  for (const char* old : {"6.0.16", "5.0.14", "6.1"}) {
    const auto refused = check_version(old);
    ASSERT_FALSE(refused.has_value()) << old;
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupportedVersion);
    EXPECT_THAT(refused.error().message, AllOf(HasSubstr(old), HasSubstr("6.2")));
  }
  for (const char* fine : {"6.2.0", "7.0.15", "10.0.1"})
    EXPECT_TRUE(check_version(fine).has_value()) << fine;
  const auto unknown = check_version("unstable");
  ASSERT_TRUE(unknown.has_value());
  EXPECT_THAT(unknown->warnings[0], HasSubstr("does not say its version"));
}

TEST(RedisChecks, AClockYearsOffIsNoticed) {
  constexpr std::int64_t kYear = 365 * 86'400;
  for (const std::int64_t ahead : {3 * kYear, -2 * kYear, std::int64_t{0}}) {
    const ServerOfVersion server("7.0.15", ahead);
    auto client = RedisClient::connect({.addresses = {server.address()}});
    ASSERT_TRUE(client.has_value()) << client.error().message;
    const auto found = check_redis(**client, {});
    ASSERT_TRUE(found.has_value()) << found.error().message;
    EXPECT_NEAR(static_cast<double>(found->clock_ahead.count()) / 1000, static_cast<double>(ahead),
                60);
    if (ahead == 0) {
      EXPECT_THAT(found->warnings, ElementsAre(HasSubstr("no replica")));
    } else {
      EXPECT_THAT(found->warnings, ElementsAre(HasSubstr("no replica"),
                                               HasSubstr(ahead > 0 ? "s behind" : "s ahead")));
    }
  }
}

// A cluster whose replica, too, is looked at: it may become a master.
TEST(RedisChecks, TheNodesOfACluster) {
  SKIP_WITHOUT_REDIS();
  const test::Words words = {"--cluster-enabled",      "yes", "--appendonly", "yes",
                             "--cluster-node-timeout", "4000"};
  const RedisServer master(words), replica(words);
  master.cli({"cluster", "addslotsrange", "0", "16383"});
  replica.cli({"cluster", "meet", "127.0.0.1", master.port()});
  const std::string id = master.cli({"cluster", "myid"});
  while (replica.cli({"cluster", "replicate", id}) != "OK" ||
         master.cli({"cluster", "slots"}).find(replica.port()) == std::string::npos)
    std::this_thread::sleep_for(milliseconds(20));
  const auto found = check(master);
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_THAT(found->warnings, ElementsAre(HasSubstr("cluster-require-full-coverage yes"),
                                           HasSubstr("cluster-require-full-coverage yes")));
  EXPECT_THAT(refusal(master, {.lease = milliseconds(8000)}).message,
              AllOf(HasSubstr("cluster-node-timeout 4000"), HasSubstr("cluster.takeover_after")));
  EXPECT_TRUE(check(master, {.lease = milliseconds(8001)}).has_value());
  replica.cli({"config", "set", "appendonly", "no"});
  EXPECT_THAT(refusal(master).message, HasSubstr(replica.address().text()));
}

}  // namespace
}  // namespace trawl
