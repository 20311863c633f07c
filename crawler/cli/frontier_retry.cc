// trawl frontier retry
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "trawl/embedded_frontier.h"

#include "crawler/cli/exit_codes.h"
#include "crawler/cli/frontier_commands.h"
#include "crawler/cli/frontier_settings.h"
#include "crawler/cli/say.h"
#include "crawler/cli/shell_word.h"
#include "crawler/config/crawl_config.h"
#include "crawler/config/redis_place.h"
#include "crawler/state/state_contents.h"
#include "frontier/recovery/state_directory.h"

namespace trawl::cli {

namespace {

RetryWhich which_of(const FrontierRetryArguments& arguments) {
  RetryWhich which{.state = arguments.state, .host = arguments.host, .reason = arguments.reason};
  if (!arguments.statuses.empty()) {
    which.wanted = [&statuses = arguments.statuses](const SetAsideUrl& url) {
      return std::ranges::any_of(statuses, [&](const StatusRange& range) {
        return url.status >= range.first && url.status <= range.last;
      });
    };
  }
  return which;
}

// Checked first, so that no LOCK file is created in a directory of something else.
Result<void> check_is_of_a_crawl(const std::filesystem::path& directory) {
  CrawlConfig place;
  place.crawl.state_dir = directory;
  const auto contents = inspect_state(place);
  if (!contents) return tl::unexpected(contents.error());
  if (*contents == StateContents::kCrawl || holds_store(directory)) return {};
  return error(ErrorCode::kNotFound, "no crawl in " + directory.string());
}

std::string set_aside_text(const FrontierStats& stats) {
  return fmt::format("{} failed and {} held", stats.set_aside_failed, stats.held);
}

void print_retried(std::uint64_t queued, const FrontierStats& stats,
                   const FrontierRetryArguments& arguments) {
  if (stats.held + stats.set_aside_failed + queued == 0) {
    say("nothing to retry: {} has no failed or held URLs\n", arguments.state_dir);
    return;
  }
  if (queued == 0) {
    say("nothing to retry: none of the URLs set aside matches ({})\n", set_aside_text(stats));
    say("to list them: {} frontier dump {} --state failed --state held\n",
        quoted(arguments.program), quoted(arguments.state_dir));
    return;
  }
  say("{} URL{} queued again; still set aside: {}\n", queued, queued == 1 ? "" : "s",
      set_aside_text(stats));
  const std::string next = resume_command(arguments.program, arguments.state_dir);
  if (!next.empty()) say("to resume: {}\n", next);
}

}  // namespace

int run_frontier_retry(const FrontierRetryArguments& arguments) {
  if (is_redis_url(arguments.state_dir)) return run_shared_retry(arguments);
  auto options = frontier_settings(arguments.state_dir);
  if (!options) return options.error();
  options->mode = OpenMode::kResume;
  if (auto holds = check_is_of_a_crawl(options->directory); !holds) return report(holds.error());
  OpenReport opened;
  const auto frontier = EmbeddedFrontier::open(*options, &opened);
  if (!frontier) return report(frontier.error());
  for (const std::string& warning : opened.warnings)
    say(stderr, "trawl: warning: {}\n", warning);
  const auto queued = (*frontier)->retry(which_of(arguments));
  const FrontierStats stats = (*frontier)->stats().value();
  const auto closed = (*frontier)->close();
  if (!queued) return report(queued.error());
  if (!closed) return report(closed.error());
  print_retried(*queued, stats, arguments);
  return kDone;
}

}  // namespace trawl::cli
