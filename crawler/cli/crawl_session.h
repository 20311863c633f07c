// crawl_session: runs an open crawl to its end, with signals and progress.
#pragma once

#include <string>

#include "crawler/cli/signals.h"
#include "crawler/run/crawl.h"

namespace trawl::cli {

// The first SIGINT or SIGTERM finishes what is in flight, the second drops it, the third ends the
// process at once; SIGUSR1 asks for a checkpoint. Prints a summary, and `resume_command` if there
// is something left to do (an empty one is not printed). Returns an exit code.
int run_session(Crawl& crawl, const SignalWaiter& signals, const std::string& resume_command);

// Sends the log where the config says. Errors: those of opening the file.
Result<void> set_up_logging(const CrawlConfig::Log& config);

}  // namespace trawl::cli
