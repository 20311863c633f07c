// The commands of `trawl frontier`; each returns an exit code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "trawl/frontier_dump.h"

namespace trawl::cli {

struct FrontierStatsArguments {
  std::string state_dir;
  bool json = false;
  std::size_t hosts = 10;  // the longest queues
};
int run_frontier_stats(const FrontierStatsArguments& arguments);

struct FrontierDumpArguments {
  std::string state_dir;
  DumpOptions options;
};
int run_frontier_dump(const FrontierDumpArguments& arguments);

struct FrontierLoadArguments {
  std::string state_dir;
  std::string input = "-";
  std::string config;  // empty: the state directory's own, if there is one
  bool append = false;
  bool skip_bad_lines = false;
  // Of a frontier that is created, in place of what the config says.
  std::optional<std::uint64_t> expected_urls;
  std::optional<double> false_positive_rate;
  bool exact = false;
  bool ledger = false;
};
int run_frontier_load(const FrontierLoadArguments& arguments);

int run_frontier_repair(const std::string& state_dir);

}  // namespace trawl::cli
