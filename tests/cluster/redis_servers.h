// Real redis-servers on loopback, alone or as a cluster.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "frontier/redis/redis_options.h"
#include "tests/support/temporary_directory.h"

namespace trawl::test {

// Whether redis-server and redis-cli are installed; tests are skipped without them.
bool has_redis();
#define SKIP_WITHOUT_REDIS() \
  if (!has_redis()) GTEST_SKIP() << "redis-server and redis-cli are not installed"

using Words = std::vector<std::string>;

// What a program printed.
std::string output_of(const Words& command);

// It dies with the thread that started it.
class RedisServer {
 public:
  // A server with no data, further options as on the command line.
  explicit RedisServer(Words options = {});
  ~RedisServer();

  RedisAddress address() const { return {.host = "127.0.0.1", .port = port_}; }
  std::string port() const { return std::to_string(port_); }
  // The answer of redis-cli.
  std::string cli(const Words& words) const;
  void stop();    // SIGKILL
  void freeze();  // SIGSTOP
  void thaw();
  void start();  // again, with its data and options
  bool answers() const;

 private:
  TemporaryDirectory directory_;
  Words options_;
  std::uint16_t port_;
  pid_t process_ = 0;
};

// Three masters and three replicas.
class RedisClusterServers {
 public:
  RedisClusterServers();

  std::vector<RedisAddress> addresses() const;
  RedisServer& server(std::uint16_t port);
  RedisServer& any_live();
  // The master that has the slot of this key, and one of its replicas.
  RedisServer& master_of(const std::string& key);
  RedisServer& replica_of(const RedisServer& master);
  // Returns when the server is a master.
  void wait_for_master(const RedisServer& server);
  std::string id_of(const RedisServer& server);

 private:
  std::vector<std::unique_ptr<RedisServer>> servers_;
};

}  // namespace trawl::test
