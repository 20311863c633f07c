// trawl crawl, trawl resume
#include <filesystem>

#include <fmt/format.h>

#include "crawler/cli/commands.h"
#include "crawler/cli/config_errors.h"
#include "crawler/cli/crawl_session.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/config/config.h"
#include "crawler/crawl.h"

namespace trawl::cli {

namespace {

// Deletes what an earlier crawl left: its state and its pages.
Result<void> remove_crawl(const CrawlConfig& config) {
  if (auto removed = Frontier::remove(config.crawl.state_dir); !removed) return removed;
  for (const auto& path :
       {saved_config_path(config.crawl.state_dir), output_directory(config) / "pages.jsonl"}) {
    std::error_code error;
    std::filesystem::remove(path, error);
    if (error) {
      return tl::unexpected(system_error(error.value(), "cannot remove " + path.string()));
    }
  }
  return {};
}

int run(const CrawlConfig& config, OpenMode mode, const std::string& resume_command) {
  // Before any thread is there, the log's included.
  const SignalWaiter signals;
  if (auto logging = set_up_logging(config.log); !logging) return report(logging.error());
  auto crawl = Crawl::open(config, mode);
  if (!crawl) {
    const int code = report(crawl.error());
    if (crawl.error().code == ErrorCode::kAlreadyExists) {
      fmt::print(stderr, "trawl: to go on with it: {}\ntrawl: to start over: add --fresh\n",
                 resume_command);
    }
    return code;
  }
  return run_session(**crawl, signals, resume_command);
}

}  // namespace

int run_crawl(const CrawlArguments& arguments) {
  const auto config = load_config(arguments.target, arguments.overrides);
  if (!config) return report_config_errors(config.error());
  if (arguments.fresh) {
    if (auto removed = remove_crawl(*config); !removed) return report(removed.error());
  }
  return run(*config, OpenMode::kCreate, "trawl resume " + arguments.target);
}

int run_resume(const CrawlArguments& arguments) {
  std::filesystem::path file = arguments.target;
  if (!std::filesystem::exists(file)) {
    return report({ErrorCode::kNotFound,
                   fmt::format("there is no config file or state directory {}", file.string())});
  }
  const bool is_state = std::filesystem::is_directory(file);
  if (is_state) file = saved_config_path(file);
  if (is_state && !std::filesystem::exists(file)) {
    return report({ErrorCode::kNotFound,
                   fmt::format("{} holds no crawl that was started: give the config file instead",
                               arguments.target)});
  }
  const auto config = load_config(file, arguments.overrides);
  if (!config) return report_config_errors(config.error());
  // A crawl that was killed before it had made its state is started: at whatever moment it was
  // killed, the same command goes on.
  return run(*config, OpenMode::kCreateOrResume, "trawl resume " + arguments.target);
}

}  // namespace trawl::cli
