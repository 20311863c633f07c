#include "crawler/cli/redis_login.h"

#include <CLI/CLI.hpp>

namespace trawl::cli {

void add_redis_login(CLI::App* command, RedisLogin& login) {
  command->add_option("--username", login.username, "With redis://: the user to log in as")
      ->type_name("NAME");
  command
      ->add_option("--password-file", login.password_file,
                   "With redis://: a file with the password in its one line")
      ->type_name("FILE");
  command
      ->add_option("--ca-file", login.ca_file,
                   "With rediss://: certificates (PEM) to trust (default: the system's)")
      ->type_name("FILE");
}

}  // namespace trawl::cli
