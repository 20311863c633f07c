// trawl sample-site
#include <fmt/format.h>

#include "crawler/cli/commands.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/say.h"
#include "crawler/cli/signal_waiter.h"

namespace trawl::cli {

int run_sample_site(const SampleSiteArguments& arguments) {
  if (arguments.list) {
    const auto urls = SampleSite::list(arguments.site);
    if (!urls) return report(urls.error());
    for (const auto& url : *urls)
      say("{}\n", url);
    return kDone;
  }
  const SignalWaiter signals;
  auto site = SampleSite::start(arguments.site);
  if (!site) return report(site.error());
  say("serving {} pages; crawl from:\n", arguments.site.pages);
  for (const auto& seed : (*site)->seeds())
    say("  {}\n", seed);
  say("Ctrl-C ends it\n");
  std::fflush(stdout);
  for (;;) {
    const auto signal = signals.wait(std::chrono::hours(1));
    if (signal && *signal != SIGUSR1) break;
  }
  (*site)->stop();
  return kDone;
}

}  // namespace trawl::cli
