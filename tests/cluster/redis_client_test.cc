// Commands to real servers: routes, refusals, and nodes that go away.
#include "frontier/redis/redis_client.h"

#include <future>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/cluster/redis_servers.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using test::has_redis;
using test::RedisClusterServers;
using test::RedisServer;
using testing::HasSubstr;

RedisOptions options_for(std::vector<RedisAddress> addresses) {
  RedisOptions options;
  options.addresses = std::move(addresses);
  options.connect_timeout = milliseconds(1000);
  options.answer_timeout = milliseconds(1500);
  return options;
}

std::unique_ptr<RedisClient> connect(const RedisOptions& options) {
  auto client = RedisClient::connect(options);
  EXPECT_TRUE(client.has_value()) << client.error().message;
  return client ? std::move(*client) : nullptr;
}

RedisCommand set(const std::string& key, const std::string& value) {
  RedisCommand command("SET", key);
  command.arg(key).arg(value);
  return command;
}
RedisCommand get(const std::string& key) {
  RedisCommand command("GET", key);
  command.arg(key);
  return command;
}

TEST(RedisCommand, SlotsAreThoseOfTheSpecification) {
  EXPECT_EQ(hash_slot("123456789"), 0x31c3 & 16383);
  EXPECT_EQ(hash_slot("{user1000}.following"), hash_slot("user1000"));
  EXPECT_EQ(hash_slot("foo{}{bar}"), hash_slot("foo{}{bar}"));
  EXPECT_NE(hash_slot("foo{}{bar}"), hash_slot("bar"));
  EXPECT_EQ(hash_slot("foo{{bar}}zap"), hash_slot("{bar"));
  EXPECT_EQ(hash_slot("foo{bar}{zap}"), hash_slot("bar"));
}

TEST(RedisCommand, AScriptKnowsItsKeys) {
  const RedisScript script("return 1");
  const std::vector<std::string> keys = {"{c:1}m", "{c:1}\r\n$7"};
  RedisCommand command(script, keys);
  command.arg("an argument");
  EXPECT_EQ(command.keys(), keys);
  EXPECT_EQ(command.key(), keys[0]);
  EXPECT_TRUE(RedisCommand("GET", "k").arg("k").keys().empty());
}

TEST(RedisCommand, IsEncodedAsAnArrayOfStrings) {
  std::string bytes;
  set("key", std::string("a\r\n\0b", 5)).encode(bytes, false);
  EXPECT_EQ(bytes, std::string("*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\na\r\n\0b\r\n", 33));
}

TEST(ReplyReader, ReadsNestedRepliesInPieces) {
  ReplyReader reader;
  const std::string bytes = "*3\r\n:42\r\n*2\r\n$-1\r\n$5\r\nhello\r\n-ERR no\r\n+OK\r\n";
  std::vector<RedisReply> replies;
  for (const char byte : bytes) {
    reader.feed(std::string_view(&byte, 1));
    auto next = reader.next();
    ASSERT_TRUE(next.has_value());
    if (*next) replies.push_back(**next);
  }
  ASSERT_EQ(replies.size(), 2u);
  ASSERT_EQ(replies[0].elements.size(), 3u);
  EXPECT_EQ(replies[0].elements[0].integer, 42);
  EXPECT_TRUE(replies[0].elements[1].elements[0].is_nil());
  EXPECT_EQ(replies[0].elements[1].elements[1].text, "hello");
  EXPECT_TRUE(replies[0].elements[2].is_error("ERR"));
  EXPECT_EQ(replies[1].kind, RedisReply::Kind::kStatus);
}

TEST(ReplyReader, RefusesWhatIsNoReply) {
  ReplyReader reader;
  reader.feed("HTTP/1.1 400 Bad Request\r\n");
  const auto next = reader.next();
  ASSERT_FALSE(next.has_value());
  EXPECT_EQ(next.error().code, ErrorCode::kCorrupt);
}

TEST(RedisClient, OneServerWithoutClusterMode) {
  SKIP_WITHOUT_REDIS();
  const RedisServer server;
  auto client = connect(options_for({server.address()}));
  EXPECT_FALSE(client->slots().is_cluster());
  std::vector<RedisCommand> commands;
  for (int i = 0; i < 1000; ++i)
    commands.push_back(set(fmt::format("key{}", i), std::to_string(i)));
  commands.push_back(get("key999"));
  const auto answers = client->run(commands, {.wait = true});
  for (const RedisAnswer& answer : answers) {
    ASSERT_TRUE(answer.reply.has_value()) << answer.trouble;
    EXPECT_TRUE(answer.replicated) << "a server without replicas gets no WAIT";
  }
  EXPECT_EQ(answers.back().reply->text, "999");
}

TEST(RedisClient, ScriptsAreSentAsTextToANodeThatDoesNotKnowThem) {
  SKIP_WITHOUT_REDIS();
  const RedisServer server;
  auto client = connect(options_for({server.address()}));
  const RedisScript script("return redis.call('INCRBY', KEYS[1], ARGV[1])");
  const std::vector<std::string> keys = {"n"};
  for (int round = 1; round <= 3; ++round) {
    std::vector<RedisCommand> commands;
    for (int i = 0; i < 3; ++i)
      commands.push_back(RedisCommand(script, keys).arg(2));
    const auto answers = client->run(commands, {});
    ASSERT_TRUE(answers[2].reply.has_value()) << answers[2].trouble;
    EXPECT_EQ(answers[2].reply->integer, 6 * round);
    if (round == 2) server.cli({"script", "flush"});
  }
}

TEST(RedisClient, ErrorsSayWhatToDo) {
  SKIP_WITHOUT_REDIS();
  const RedisServer server({"--requirepass", "secret"});
  RedisOptions options = options_for({server.address()});
  auto without = RedisClient::connect(options);
  ASSERT_FALSE(without.has_value());
  EXPECT_EQ(without.error().code, ErrorCode::kPermission);
  EXPECT_THAT(without.error().message, HasSubstr("cluster.password_file"));
  options.password = "wrong";
  auto wrong = RedisClient::connect(options);
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, ErrorCode::kPermission);
  EXPECT_THAT(wrong.error().message, HasSubstr("refuses the password"));
  EXPECT_THAT(wrong.error().message, HasSubstr(server.port()));
  options.password = "secret";
  EXPECT_TRUE(RedisClient::connect(options).has_value());

  const RedisServer open;
  options.addresses = {open.address()};
  auto needless = RedisClient::connect(options);
  ASSERT_FALSE(needless.has_value());
  EXPECT_THAT(needless.error().message, HasSubstr("has no password"));
  options.password.clear();
  open.cli({"acl", "setuser", "narrow", "on", ">word", "~*", "+@all", "-@dangerous"});
  options.username = "narrow";
  options.password = "word";
  auto narrow = RedisClient::connect(options);
  ASSERT_FALSE(narrow.has_value());
  EXPECT_EQ(narrow.error().code, ErrorCode::kPermission);
  EXPECT_THAT(narrow.error().message, HasSubstr("+role"));
  open.cli({"acl", "setuser", "narrow", "+role"});
  EXPECT_TRUE(RedisClient::connect(options).has_value());
  open.cli({"acl", "setuser", "reader", "on", ">word", "~*", "+@read", "+cluster", "+role"});
  options.username = "reader";
  options.password = "word";
  auto reader = connect(options);
  const RedisAnswer refused = reader->run_one(set("a", "b"), {});
  ASSERT_TRUE(refused.reply.has_value());
  EXPECT_TRUE(refused.reply->is_error("NOPERM")) << refused.reply->text;
}

TEST(RedisClient, NobodyListens) {
  SKIP_WITHOUT_REDIS();
  RedisServer server;
  const RedisAddress address = server.address();
  server.stop();
  auto refused = RedisClient::connect(options_for({address}));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr(address.text()));
  EXPECT_THAT(refused.error().message, HasSubstr("cluster.redis"));
}

TEST(RedisClient, AReplicaWithoutClusterModeIsRefused) {
  SKIP_WITHOUT_REDIS();
  const RedisServer master;
  const RedisServer replica({"--replicaof", "127.0.0.1 " + master.port()});
  auto refused = RedisClient::connect(options_for({replica.address()}));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("is a replica"));
}

// A command of a connection that has written nothing is followed by WAIT too: it must cover what
// others wrote before.
TEST(RedisClient, WaitCoversWhatAnotherConnectionWrote) {
  SKIP_WITHOUT_REDIS();
  const RedisServer master;
  RedisServer replica({"--replicaof", "127.0.0.1 " + master.port()});
  for (int i = 0;
       i < 1000 && master.cli({"info", "replication"}).find("state=online") == std::string::npos;
       ++i)
    std::this_thread::sleep_for(milliseconds(20));
  auto writer = connect(options_for({master.address()}));
  auto other = connect(options_for({master.address()}));
  const RedisClient::Run waits{.wait = true, .patience = milliseconds(500)};
  EXPECT_TRUE(
      writer->run_one(set("a", "1"), {.wait = true, .patience = milliseconds(20000)}).replicated);
  replica.freeze();
  const RedisAnswer written = writer->run_one(set("a", "2"), waits);
  ASSERT_TRUE(written.reply.has_value());
  EXPECT_FALSE(written.replicated);
  EXPECT_THAT(written.trouble, HasSubstr("no replica"));
  // The scripts write even where they have nothing to change, and need not rely on this.
  EXPECT_FALSE(other->run_one(get("a"), waits).replicated);
  replica.thaw();
  EXPECT_TRUE(other->run_one(get("a"), {.wait = true, .patience = milliseconds(20000)}).replicated);
}

TEST(RedisClient, ReadOnlyAndUnansweredCommandsAreSentAgain) {
  SKIP_WITHOUT_REDIS();
  RedisServer server;
  auto client = connect(options_for({server.address()}));
  server.cli({"config", "set", "min-replicas-to-write", "1"});
  const RedisAnswer refused = client->run_one(set("a", "1"), {.patience = milliseconds(200)});
  EXPECT_FALSE(refused.reply.has_value());
  EXPECT_THAT(refused.trouble, HasSubstr("NOREPLICAS"));
  EXPECT_THAT(refused.trouble, HasSubstr("to write; see min-replicas-to-write"));
  auto ready = std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(milliseconds(200));
    server.cli({"config", "set", "min-replicas-to-write", "0"});
  });
  EXPECT_TRUE(client->run_one(set("a", "1"), {.patience = milliseconds(20000)}).reply.has_value());
  ready.get();
  // Frozen longer than an answer may take: a command that must not be executed twice has no answer.
  server.freeze();
  RedisCommand once("INCR", "n");
  once.arg("n").once();
  const RedisAnswer unknown = client->run_one(once, {.patience = milliseconds(20000)});
  EXPECT_FALSE(unknown.reply.has_value());
  EXPECT_THAT(unknown.trouble, HasSubstr("does not answer"));
  server.thaw();
  // The server away, and back.
  server.stop();
  auto answered = std::async(std::launch::async, [&] {
    return client->run_one(set("a", "1"), {.patience = milliseconds(20000)});
  });
  std::this_thread::sleep_for(milliseconds(300));
  server.start();
  EXPECT_TRUE(answered.get().reply.has_value());
}

TEST(RedisClient, TlsToAServerWithACertificateOfOurAuthority) {
  SKIP_WITHOUT_REDIS();
  const test::TemporaryDirectory directory;
  const std::string pem = (directory.path() / "cert.pem").string();
  const std::string key = (directory.path() / "key.pem").string();
  test::output_of({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                   "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                   key, "-out", pem});
  const RedisServer plain;
  const std::string port = std::to_string(plain.address().port + 10000);
  const RedisServer server({"--tls-port", port, "--tls-cert-file", pem, "--tls-key-file", key,
                            "--tls-ca-cert-file", pem, "--tls-auth-clients", "no"});
  RedisOptions options =
      options_for({{.host = "127.0.0.1", .port = static_cast<std::uint16_t>(std::stoi(port))}});
  options.tls = true;
  options.ca_file = pem;
  auto client = connect(options);
  ASSERT_NE(client, nullptr);
  const std::string large(3'000'000, 'x');
  EXPECT_TRUE(client->run_one(set("a", large), {}).reply.has_value());
  EXPECT_EQ(client->run_one(get("a"), {}).reply->text, large);
  options.ca_file.clear();
  auto untrusted = RedisClient::connect(options);
  ASSERT_FALSE(untrusted.has_value());
  EXPECT_EQ(untrusted.error().code, ErrorCode::kPermission);
  EXPECT_THAT(untrusted.error().message, HasSubstr("certificate"));
  options.addresses = {plain.address()};
  options.answer_timeout = options.connect_timeout = milliseconds(300);
  EXPECT_FALSE(RedisClient::connect(options).has_value());
}

// Starting a cluster takes seconds, so one test does all: routes, a reshard, failovers.
TEST(RedisClient, AClusterThatIsReshardedAndFailsOver) {
  SKIP_WITHOUT_REDIS();
  RedisClusterServers servers;
  auto client = connect(options_for({servers.addresses()[5]}));
  ASSERT_TRUE(client->slots().is_cluster());
  const RedisClient::Run waits{.wait = true, .patience = milliseconds(20000)};
  const auto write_all = [&](const std::string& value) {
    std::vector<RedisCommand> commands;
    for (int i = 0; i < 300; ++i)
      commands.push_back(set(fmt::format("{{{}}}k", i), value));
    for (const RedisAnswer& answer : client->run(commands, waits)) {
      ASSERT_TRUE(answer.reply.has_value()) << answer.trouble;
      ASSERT_FALSE(answer.reply->is_error()) << answer.reply->text;
      ASSERT_TRUE(answer.replicated) << answer.trouble;
    }
  };
  write_all("before");

  // While slots move, commands of several keys get ASK and TRYAGAIN.
  RedisServer& from = servers.master_of("{1}k");
  RedisServer* to = nullptr;
  for (int i = 0; to == nullptr; ++i) {
    RedisServer& other = servers.master_of(fmt::format("{{{}}}k", i));
    if (&other != &from) to = &other;
  }
  auto moved = std::async(std::launch::async, [&] {
    return test::output_of({"timeout", "100", "redis-cli", "--cluster", "reshard",
                            from.address().text(), "--cluster-from", servers.id_of(from),
                            "--cluster-to", servers.id_of(*to), "--cluster-slots", "1500",
                            "--cluster-yes"});
  });
  const RedisScript both(
      "redis.call('INCR', KEYS[1]) redis.call('SET', KEYS[2], 1) return redis.call('GET', "
      "KEYS[1])");
  int rounds = 0;
  while (moved.wait_for(milliseconds(0)) != std::future_status::ready) {
    ++rounds;
    std::vector<RedisCommand> commands;
    for (int i = 0; i < 300; ++i) {
      const std::vector<std::string> keys = {fmt::format("{{{}}}n", i), fmt::format("{{{}}}m", i)};
      commands.push_back(RedisCommand(both, keys));
    }
    for (const RedisAnswer& answer : client->run(commands, waits)) {
      ASSERT_TRUE(answer.reply.has_value()) << answer.trouble;
      ASSERT_EQ(answer.reply->text, std::to_string(rounds)) << "executed once each";
    }
  }
  EXPECT_THAT(moved.get(), testing::Not(HasSubstr("ERR")));
  EXPECT_GT(rounds, 0);
  fmt::print("{} rounds of 300 scripts while slots moved\n", rounds);

  // A master dies: commands to it wait for its replica.
  RedisServer& master = servers.master_of("{1}k");
  RedisServer& replica = servers.replica_of(master);
  master.stop();
  const RedisAnswer answer =
      client->run_one(set("{1}k", "after"), {.patience = milliseconds(30000)});
  ASSERT_TRUE(answer.reply.has_value()) << answer.trouble;
  servers.wait_for_master(replica);
  // Without a second copy a write does not count as replicated, though the node has no replica now.
  const RedisAnswer alone =
      client->run_one(set("{1}k", "alone"), {.wait = true, .patience = milliseconds(300)});
  EXPECT_FALSE(alone.replicated);
  master.start();
  write_all("with the old master as a replica");

  // A master and its replica die: the other slots go on.
  const std::string lost = "{1}k";
  RedisServer& new_master = servers.master_of(lost);
  servers.replica_of(new_master).stop();
  new_master.stop();
  std::string other;
  for (int i = 0; other.empty(); ++i)
    if (client->slots().node_of(hash_slot(fmt::format("{{{}}}k", i))) !=
        client->slots().node_of(hash_slot(lost)))
      other = fmt::format("{{{}}}k", i);
  const std::vector<RedisCommand> commands = {get(lost), get(other)};
  const auto answers = client->run(commands, {.patience = milliseconds(4000)});
  EXPECT_FALSE(answers[0].reply.has_value());
  EXPECT_FALSE(answers[0].trouble.empty());
  fmt::print("{}\n", answers[0].trouble);
  ASSERT_TRUE(answers[1].reply.has_value()) << answers[1].trouble;
}

TEST(RedisClient, ASlotThatNoNodeHasIsNamed) {
  SKIP_WITHOUT_REDIS();
  const RedisServer server({"--cluster-enabled", "yes", "--cluster-require-full-coverage", "no"});
  server.cli({"cluster", "addslotsrange", "0", "8000"});
  auto client = connect(options_for({server.address()}));
  const RedisAnswer answer = client->run_one(get("foo"), {.patience = milliseconds(300)});  // 12182
  EXPECT_FALSE(answer.reply.has_value());
  EXPECT_THAT(answer.trouble, HasSubstr("12182"));
  EXPECT_THAT(answer.trouble, HasSubstr("foo"));
}

}  // namespace
}  // namespace trawl
