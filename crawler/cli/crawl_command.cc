// trawl crawl, trawl resume
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "crawler/cli/commands.h"
#include "crawler/cli/crawl_input.h"
#include "crawler/cli/crawl_session.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/printable_text.h"
#include "crawler/cli/run_overrides.h"
#include "crawler/cli/say.h"
#include "crawler/cli/shell_word.h"
#include "crawler/config/config_warnings.h"
#include "crawler/config/crawl_config.h"
#include "crawler/run/crawl.h"
#include "crawler/state/fresh_start.h"

namespace trawl::cli {

namespace {

// Starts over. Everything is checked first, so that nothing is deleted for a crawl that cannot
// start.
Result<void> start_afresh(const CrawlConfig& config) {
  if (auto logging = set_up_logging(config.log); !logging) return logging;
  if (auto usable = check_crawl(config); !usable) return usable;
  auto start = FreshStart::prepare(config);
  if (!start) return tl::unexpected(start.error());
  const auto report = start->carry_out();
  if (!report) return tl::unexpected(report.error());
  for (const std::string& line : *report)
    say("{}\n", printable(line));
  std::fflush(stdout);
  return {};
}

// The command to print for resuming. With overrides, the config file may name another state
// directory, so the command names the state directory itself and repeats the overrides; those of a
// crawl without a config file are in its state directory.
std::string command_to_resume(const CrawlArguments& arguments, const CrawlInput& input) {
  const bool named = arguments.overrides.empty() || input.kind() == CrawlInput::Kind::kUrls;
  const std::string target =
      named ? input.name() : std::filesystem::absolute(input.state_dir()).string();
  std::string command = quoted(arguments.program) + " resume " + quoted(target);
  if (input.kind() == CrawlInput::Kind::kUrls) return command;
  for (const std::string& assignment : overrides_to_repeat(arguments.overrides, input.config()))
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
  return run_session(**crawl, signals, resume);
}

}  // namespace

int run_crawl(const CrawlArguments& arguments) {
  const auto input =
      CrawlInput::of_new_crawl(arguments.inputs, arguments.directory, arguments.overrides);
  if (!input) return input.error();
  const CrawlConfig& config = input->config();
  if (arguments.fresh) {
    if (auto begun = start_afresh(config); !begun) return report(begun.error());
  }
  // With [recrawl], the same command continues the crawl each time it is run.
  const OpenMode mode = arguments.or_resume || config.recrawl.enabled() ? OpenMode::kCreateOrResume
                                                                        : OpenMode::kCreate;
  return run(config, input->config_to_store(), mode, command_to_resume(arguments, *input));
}

int run_resume(const CrawlArguments& arguments) {
  const auto input = CrawlInput::resolve(arguments.target, arguments.overrides);
  if (!input) return input.error();
  if (auto holds = expect_crawl(input->state_dir()); !holds) {
    const int code = report(holds.error());
    if (input->kind() == CrawlInput::Kind::kConfigFile) {
      say(stderr, "trawl: to start a crawl: {} crawl {}\n", quoted(arguments.program),
          quoted(arguments.target));
    }
    return code;
  }
  return run(input->config(), input->config_to_store(), OpenMode::kResume,
             command_to_resume(arguments, *input), arguments.change_url_rules,
             arguments.retry_failed);
}

}  // namespace trawl::cli
