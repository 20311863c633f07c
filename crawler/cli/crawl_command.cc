// trawl crawl, trawl resume
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "trawl/frontier_dump.h"

#include "crawler/cli/commands.h"
#include "crawler/cli/crawl_input.h"
#include "crawler/cli/crawl_session.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/printable_text.h"
#include "crawler/cli/run_overrides.h"
#include "crawler/cli/say.h"
#include "crawler/cli/shell_word.h"
#include "crawler/cli/start_traces.h"
#include "crawler/config/config_warnings.h"
#include "crawler/config/crawl_config.h"
#include "crawler/config/crawl_paths.h"
#include "crawler/log/room_log.h"
#include "crawler/run/crawl.h"
#include "crawler/state/fresh_start.h"

namespace trawl::cli {

namespace {

// Starts over. Everything is checked first, so that nothing is deleted for a crawl that cannot
// start.
Result<void> start_afresh(const CrawlConfig& config) {
  if (auto logging = apply_log_settings(config.log); !logging) return logging;
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

// The command to print for resuming. With overrides, the config file may name another state
// directory, so the command names the state directory itself and repeats the overrides; those of a
// crawl without a config file are in its state directory.
NextCommand command_to_resume(const CrawlArguments& arguments, const CrawlInput& input) {
  const bool named = arguments.overrides.empty() || input.kind() == CrawlInput::Kind::kUrls;
  const std::string target =
      named ? input.name() : std::filesystem::absolute(input.state_dir()).string();
  if (input.kind() == CrawlInput::Kind::kUrls) return {arguments.program, target};
  return {arguments.program, target, overrides_to_repeat(arguments.overrides, input.config())};
}

SessionOptions session_options(const CrawlArguments& arguments, const CrawlInput& input) {
  return {.next = command_to_resume(arguments, input), .verbosity = arguments.verbosity};
}

Result<void> queue_failed(Crawl& crawl) {
  const auto queued = crawl.retry_failed();
  if (!queued) return tl::unexpected(queued.error());
  if (crawl.cluster()) {
    spdlog::info(
        "all failed URLs of the crawl are to be queued again, each by the crawler that has "
        "its host");
    return {};
  }
  spdlog::info("queued {} failed URL{} again", *queued, *queued == 1 ? "" : "s");
  return {};
}

// Whether a first try fetched nothing since the addresses, or rules, did not allow it. The same
// command with other settings then continues it.
bool was_refused(const std::filesystem::path& state_dir) {
  std::error_code failure;
  if (!std::filesystem::exists(saved_config_path(state_dir), failure)) return false;
  const auto summary = summarize_frontier(state_dir, 0);
  if (!summary) return false;
  const FrontierStats& stats = summary->stats;
  return stats.held > 0 && stats.succeeded == 0 && stats.failed == 0 && stats.queued == 0 &&
         stats.deferred == 0;
}

// How far the crawl is that a new one would replace.
void say_what_is_there(const CrawlInput& input) {
  const auto summary = summarize_frontier(input.state_dir(), 0);
  if (!summary) return;
  const FrontierStats& stats = summary->stats;
  say(stderr, "trawl: it has fetched {} pages; {} URLs are queued\n", stats.succeeded,
      stats.queued + stats.deferred);
  const auto former = load_config(saved_config_path(input.state_dir()));
  if (!former || former->crawl.seeds.empty()) return;
  if (former->crawl.seeds.front() != input.config().crawl.seeds.front())
    say(stderr, "trawl: it began with {}\n", printable(former->crawl.seeds.front()));
}

int report_opening(const Error& error, const CrawlInput& input, const NextCommand& next) {
  const std::string resume = next.resume();
  const int code = report(error);
  // The error itself says what to do, and nothing of it is about the directory.
  if (input.config().cluster.enabled()) return code;
  if (error.code == ErrorCode::kAlreadyExists) {
    say_what_is_there(input);
    say(stderr, "trawl: to resume it: {}\ntrawl: to start over: add --fresh\n", resume);
    if (input.kind() == CrawlInput::Kind::kUrls)
      say(stderr, "trawl: to begin another next to it: add -o DIR\n");
  }
  if (error.code == ErrorCode::kProfileMismatch) {
    say(stderr,
        "trawl: to resume with the new rules: {} --change-url-rules\ntrawl: URLs that were seen "
        "before may then be fetched again\n",
        resume);
  }
  return code;
}

// Where a crawl without a config puts its files, which the user did not say.
void say_places(const CrawlConfig& config, const Crawl& crawl) {
  const std::vector<std::string>& seeds = config.crawl.seeds;
  say("crawling {}{}\n", printable(seeds.front()),
      seeds.size() > 1 ? fmt::format(" and {} more", seeds.size() - 1) : "");
  say("state in {}, output in {}\n", config.crawl.state_dir.string(),
      crawl.pages_path().empty() ? output_directory(config).string() : crawl.pages_path());
  std::fflush(stdout);
}

int run(const CrawlInput& input, const SignalWaiter& signals, OpenMode mode,
        const SessionOptions& options, bool change_url_rules = false, bool retry_failed = false) {
  const CrawlConfig& config = input.config();
  const CrawlConfig saved = input.config_to_store();
  const StartTraces traces(config);
  const CrawlConfig::Log log = log_settings_of(options.verbosity, config.log);
  if (auto logging = apply_log_settings(log); !logging) {
    traces.remove_after(logging.error());
    return report(logging.error());
  }
  for (const std::string& warning : config_warnings(config))
    spdlog::warn("{}", warning);
  // Before the crawl is created: its port may be in use.
  const auto status = StatusServer::open(config);
  if (!status) {
    traces.remove_after(status.error());
    return report(status.error());
  }
  auto crawl = Crawl::open(config, {.mode = mode,
                                    .replace_profile = change_url_rules,
                                    .saved = &saved,
                                    .reread = [&input] { return input.read_again(); },
                                    .set_log = apply_log_settings});
  if (!crawl) {
    traces.remove_after(crawl.error());
    return report_opening(crawl.error(), input, options.next);
  }
  if (input.kind() == CrawlInput::Kind::kUrls && options.verbosity != Verbosity::kQuiet)
    say_places(config, **crawl);
  if (retry_failed) {
    if (auto queued = queue_failed(**crawl); !queued) return report(queued.error());
  }
  return run_session(**crawl, signals, options, **status);
}

}  // namespace

// In both commands the signals' waiter is created once the input is read, which Ctrl-C may
// interrupt, and before any thread, such as those of the store and of the log, so that all inherit
// the signal mask.

int run_crawl(const CrawlArguments& arguments) {
  auto input = CrawlInput::of_new_crawl(arguments.inputs, arguments.directory, arguments.overrides);
  if (!input) return input.error();
  const SignalWaiter signals;
  if (arguments.fresh) {
    if (auto begun = start_afresh(input->config()); !begun) return report(begun.error());
  }
  // With [recrawl], the same command continues the crawl each time it is run; with [cluster] it
  // begins the crawl, joins it, and continues it after a crash.
  const bool continues = arguments.or_resume || input->config().recrawl.enabled() ||
                         input->config().cluster.enabled() || was_refused(input->state_dir());
  if (continues && !arguments.fresh) {
    input = input->with_stored_config();
    if (!input) return input.error();
  }
  const OpenMode mode = continues ? OpenMode::kCreateOrResume : OpenMode::kCreate;
  return run(*input, signals, mode, session_options(arguments, *input));
}

int run_resume(const CrawlArguments& arguments) {
  const auto input = CrawlInput::resolve(arguments.target, arguments.overrides);
  if (!input) return input.error();
  const SignalWaiter signals;
  if (input->config().cluster.enabled()) {
    if (arguments.change_url_rules) {
      return usage_error(fmt::format(
          "--change-url-rules is not possible with [cluster]: all crawlers of the crawl "
          "{} have its rules; a crawl with other rules needs another cluster.name",
          input->config().cluster.name));
    }
    return run(*input, signals, OpenMode::kCreateOrResume, session_options(arguments, *input),
               false, arguments.retry_failed);
  }
  if (auto holds = expect_crawl(input->state_dir()); !holds) {
    const int code = report(holds.error());
    if (input->kind() == CrawlInput::Kind::kConfigFile) {
      say(stderr, "trawl: to start a crawl: {} crawl {}\n", quoted(arguments.program),
          quoted(arguments.target));
    }
    return code;
  }
  return run(*input, signals, OpenMode::kResume, session_options(arguments, *input),
             arguments.change_url_rules, arguments.retry_failed);
}

}  // namespace trawl::cli
