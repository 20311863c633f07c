// trawl frontier revive
#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "trawl/embedded_frontier.h"

#include "crawler/cli/exit_codes.h"
#include "crawler/cli/frontier_commands.h"
#include "crawler/cli/say.h"
#include "crawler/cli/shell_word.h"
#include "crawler/config/redis_place.h"

namespace trawl::cli {

namespace {

constexpr std::size_t kHostsShown = 10;

void print_revived(const ReviveReport& report, const FrontierReviveArguments& arguments) {
  if (report.revived == 0) {
    if (arguments.hosts.empty())
      say("nothing to revive: {} has no parked hosts\n", arguments.state_dir);
    return;
  }
  say("{} host{} revived; resume the crawl to fetch the queued URLs\n", report.revived,
      report.revived == 1 ? "" : "s");
  const std::size_t shown = std::min(report.hosts.size(), kHostsShown);
  for (std::size_t i = 0; i < shown; ++i)
    say("  {}\n", report.hosts[i]);
  if (report.revived > shown) say("  and {} more\n", report.revived - shown);
  const std::string next = resume_command(arguments.program, arguments.state_dir);
  if (!next.empty()) say("to resume: {}\n", next);
}

}  // namespace

int run_frontier_revive(const FrontierReviveArguments& arguments) {
  if (is_redis_url(arguments.state_dir)) return run_shared_revive(arguments);
  const auto revived = EmbeddedFrontier::revive(arguments.state_dir, arguments.hosts);
  if (!revived) return report(revived.error());
  for (const std::string& host : revived->not_parked)
    say(stderr, "trawl: {} is not parked\n", host);
  for (const std::string& host : revived->unknown) {
    say(stderr, "trawl: {} has no waiting URLs in this crawl\n", host);
  }
  print_revived(*revived, arguments);
  return revived->revived == 0 && !arguments.hosts.empty() ? kFailed : kDone;
}

}  // namespace trawl::cli
