// trawl frontier repair
#include <string>

#include <fmt/format.h>

#include "trawl/embedded_frontier.h"

#include "crawler/cli/exit_codes.h"
#include "crawler/cli/frontier_commands.h"
#include "crawler/cli/frontier_settings.h"
#include "crawler/cli/say.h"

namespace trawl::cli {

int run_frontier_repair(const std::string& state_dir) {
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
