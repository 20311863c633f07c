// RedisLogin: how a command logs in to Redis.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace trawl::cli {

struct RedisLogin {
  std::string username = {};       // empty: Redis' default user
  std::string password_file = {};  // empty: no login
  std::string ca_file = {};        // empty: the system's authorities
};

// Adds --username, --password-file and --ca-file.
void add_redis_login(CLI::App* command, RedisLogin& login);

}  // namespace trawl::cli
