// ClusterArguments: the commands of `trawl cluster`; each returns an exit code.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "crawler/cli/redis_login.h"

namespace trawl::cli {

struct ClusterArguments {
  std::vector<std::string> urls;  // "redis://HOST:PORT/NAME"
  RedisLogin redis;
  bool json = false;
  // How long heartbeats are waited for; a member without one is called silent.
  std::chrono::milliseconds wait{4000};
};
int run_cluster_status(const ClusterArguments& arguments);
int run_cluster_buckets(const ClusterArguments& arguments);
int run_cluster_members(const ClusterArguments& arguments);

}  // namespace trawl::cli
