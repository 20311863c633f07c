// The commands of `trawl frontier`; each returns an exit code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trawl/frontier_dump.h"
#include "trawl/set_aside.h"

#include "crawler/cli/redis_login.h"

namespace trawl::cli {

// In all arguments: `state_dir` may be "redis://HOST:PORT/NAME".
struct FrontierStatsArguments {
  std::string state_dir;
  RedisLogin redis;
  bool json = false;
  std::size_t hosts = 10;  // the longest queues
};
int run_frontier_stats(const FrontierStatsArguments& arguments);
int run_shared_stats(const FrontierStatsArguments& arguments);

struct FrontierDumpArguments {
  std::string state_dir;
  RedisLogin redis;
  std::string host;                  // empty: all
  std::vector<WaitingState> states;  // none: all
};
int run_frontier_dump(const FrontierDumpArguments& arguments);

struct FrontierLoadArguments {
  std::string state_dir;
  RedisLogin redis;
  std::string input = "-";
  std::string config;  // empty: crawl.toml in the state directory, if there
  bool append = false;
  bool skip_bad_lines = false;
  bool set_aside = false;  // also queue URLs that were held or failed
  bool seen = false;       // the URLs are not queued, but count as seen
  // For a new frontier: override the config.
  std::optional<std::uint64_t> expected_urls;
  std::optional<double> false_positive_rate;
  bool exact = false;
  bool ledger = false;
};
int run_frontier_load(const FrontierLoadArguments& arguments);
int run_shared_load(const FrontierLoadArguments& arguments);

struct FrontierReviveArguments {
  std::string program;  // argv[0]
  std::string state_dir;
  RedisLogin redis;
  std::vector<std::string> hosts;  // none: all parked hosts
};
int run_frontier_revive(const FrontierReviveArguments& arguments);
int run_shared_revive(const FrontierReviveArguments& arguments);

// A range of HTTP status codes, both ends included.
struct StatusRange {
  int first = 0;
  int last = 0;
};

struct FrontierRetryArguments {
  std::string program = {};  // argv[0]
  std::string state_dir = {};
  RedisLogin redis = {};
  std::optional<SetAsideState> state = SetAsideState::kFailed;  // nothing: both
  std::vector<StatusRange> statuses = {};                       // any of them; none: all
  std::string reason = {};                                      // empty: any
  std::string host = {};                                        // empty: any
};
int run_frontier_retry(const FrontierRetryArguments& arguments);
int run_shared_retry(const FrontierRetryArguments& arguments);

int run_frontier_repair(const std::string& state_dir);

}  // namespace trawl::cli
