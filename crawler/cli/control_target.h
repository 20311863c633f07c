// find_running_crawl: the running crawl that a command is about.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "trawl/result.h"

#include "crawler/status/control_client.h"

namespace trawl::cli {

struct RunningCrawl {
  ControlClient client;
  std::filesystem::path state_dir;
};

// `target`: a config file or a state directory. Prints why there is none, with what to do, and
// returns the exit code.
tl::expected<RunningCrawl, int> find_running_crawl(const std::string& target,
                                                   const std::string& program);

}  // namespace trawl::cli
