// trawl frontier repair
#include <string>

#include <fmt/format.h>

#include "trawl/embedded_frontier.h"

#include "crawler/cli/exit_codes.h"
#include "crawler/cli/frontier_commands.h"
#include "crawler/cli/frontier_settings.h"
#include "crawler/cli/say.h"
#include "crawler/config/redis_place.h"

namespace trawl::cli {

int run_frontier_repair(const std::string& state_dir) {
  if (is_redis_url(state_dir)) {
    return usage_error(
        "repair is for state directories: a crawl in Redis has no checkpoints, and what its "
        "crawlers know of seen URLs is read from Redis when they take over a bucket; damaged keys "
        "are named by the command or crawler that reads them");
  }
  const auto options = frontier_settings(state_dir);
  if (!options) return options.error();
  const auto repaired = EmbeddedFrontier::repair(*options);
  if (!repaired) return report(repaired.error());
  for (const std::string& note : repaired->notes)
    say("{}\n", note);
  if (!repaired->repaired) {
    say("{} is intact: nothing was changed\n", state_dir);
    return kDone;
  }
  say("repaired: {} URLs are known as seen", repaired->known);
  if (repaired->forgotten > 0) {
    say("; {} URLs seen before are unknown, and may be fetched again", repaired->forgotten);
  }
  say("\n");
  return kDone;
}

}  // namespace trawl::cli
