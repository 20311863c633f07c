// trawl crawl, trawl resume
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "trawl/embedded_frontier.h"

#include "crawler/cli/commands.h"
#include "crawler/cli/config_errors.h"
#include "crawler/cli/crawl_session.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/printable_text.h"
#include "crawler/cli/run_overrides.h"
#include "crawler/cli/say.h"
#include "crawler/cli/shell_word.h"
#include "crawler/config/config_warnings.h"
#include "crawler/config/crawl_config.h"
#include "crawler/config/crawl_paths.h"
#include "crawler/run/crawl.h"
#include "crawler/state/fresh_start.h"

namespace trawl::cli {

namespace {

// Starts over. Everything is checked first, so that nothing is deleted for a crawl that cannot
// start.
Result<void> start_afresh(const CrawlConfig& config) {
  if (auto logging = set_up_logging(config.log); !logging) return logging;
  if (auto usable = check_crawl(config); !usable) return usable;
  if (auto free = StatusServer::open(config); !free) return tl::unexpected(free.error());
  auto start = FreshStart::prepare(config);
  if (!start) return tl::unexpected(start.error());
  const auto report = start->carry_out();
  if (!report) return tl::unexpected(report.error());
  for (const std::string& line : *report)
    say("{}\n", printable(line));
  std::fflush(stdout);
  return {};
}

// Errors: kNotFound, with the directory that was searched.
Result<void> check_holds_crawl(const std::filesystem::path& state_dir) {
  std::error_code failure;
  const auto directory = std::filesystem::absolute(state_dir, failure).lexically_normal();
  const auto found = EmbeddedFrontier::look_at(directory);
  if (!found) return tl::unexpected(found.error());
  if (found->resumable) return {};
  const bool exists = std::filesystem::exists(directory, failure);
  return error(ErrorCode::kNotFound,
               fmt::format("no crawl in {}{}", directory.string(),
                           exists ? ": the directory has no MANIFEST" : ", which does not exist"));
}

// The command to print for resuming. With overrides, the config file may name another state
// directory, so the command names the state directory itself and repeats the overrides.
std::string command_to_resume(const CrawlArguments& arguments, const CrawlConfig& config) {
  const std::string target = arguments.overrides.empty()
                                 ? arguments.target
                                 : std::filesystem::absolute(config.crawl.state_dir).string();
  std::string command = quoted(arguments.program) + " resume " + quoted(target);
  for (const std::string& assignment : overrides_to_repeat(arguments.overrides, config))
    command += " --set " + quoted(assignment);
  return command;
}

Result<void> queue_failed(Crawl& crawl) {
  const auto queued = crawl.retry_failed();
  if (!queued) return tl::unexpected(queued.error());
  spdlog::info("queued {} failed URL{} again", *queued, *queued == 1 ? "" : "s");
  return {};
}

int run(const CrawlConfig& config, const CrawlConfig& saved, OpenMode mode,
        const std::string& resume, bool change_url_rules = false, bool retry_failed = false) {
  // Created before any thread, the log's included, so that all threads inherit the signal mask.
  const SignalWaiter signals;
  if (auto logging = set_up_logging(config.log); !logging) return report(logging.error());
  for (const std::string& warning : config_warnings(config))
    spdlog::warn("{}", warning);
  // Before the crawl is created: its port may be in use.
  const auto status = StatusServer::open(config);
  if (!status) return report(status.error());
  auto crawl =
      Crawl::open(config, {.mode = mode, .replace_profile = change_url_rules, .saved = &saved});
  if (!crawl) {
    const int code = report(crawl.error());
    if (crawl.error().code == ErrorCode::kAlreadyExists) {
      say(stderr, "trawl: to resume it: {}\ntrawl: to start over: add --fresh\n", resume);
    }
    if (crawl.error().code == ErrorCode::kProfileMismatch) {
      say(stderr,
          "trawl: to resume with the new rules: {} --change-url-rules\ntrawl: URLs that were seen "
          "before may then be fetched again\n",
          resume);
    }
    return code;
  }
  if (retry_failed) {
    if (auto queued = queue_failed(**crawl); !queued) return report(queued.error());
  }
  return run_session(**crawl, signals, resume, **status);
}

}  // namespace

int run_crawl(const CrawlArguments& arguments) {
  const auto config = load_config(arguments.target, arguments.overrides);
  if (!config) return report_config_errors(config.error());
  if (arguments.fresh) {
    if (auto begun = start_afresh(*config); !begun) return report(begun.error());
  }
  // With [recrawl], the same command continues the crawl each time it is run.
  const OpenMode mode = arguments.or_resume || config->recrawl.enabled() ? OpenMode::kCreateOrResume
                                                                         : OpenMode::kCreate;
  return run(*config, config_to_keep(arguments.target, arguments.overrides, *config), mode,
             command_to_resume(arguments, *config));
}

int run_resume(const CrawlArguments& arguments) {
  std::filesystem::path file = arguments.target;
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    return report({ErrorCode::kNotFound,
                   fmt::format("no such config file or state directory: {}", file.string())});
  }
  const bool is_state = std::filesystem::is_directory(file, error);
  if (is_state) file = saved_config_path(file);
  if (is_state && !std::filesystem::exists(file, error)) {
    if (auto holds = check_holds_crawl(arguments.target); !holds) return report(holds.error());
    return report(
        {ErrorCode::kNotFound,
         fmt::format("{} holds a crawl, but not its config file {}: give the config file instead",
                     arguments.target, file.filename().string())});
  }
  auto config = load_config(file, arguments.overrides);
  if (!config) return report_config_errors(config.error());
  if (is_state) {
    // The state directory may have been moved since the crawl started.
    config->crawl.state_dir = std::filesystem::absolute(arguments.target);
  }
  if (auto holds = check_holds_crawl(config->crawl.state_dir); !holds) {
    const int code = report(holds.error());
    if (!is_state) {
      say(stderr, "trawl: to start a crawl: {} crawl {}\n", quoted(arguments.program),
          quoted(arguments.target));
    }
    return code;
  }
  return run(*config, config_to_keep(file, arguments.overrides, *config), OpenMode::kResume,
             command_to_resume(arguments, *config), arguments.change_url_rules,
             arguments.retry_failed);
}

}  // namespace trawl::cli
